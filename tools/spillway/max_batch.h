// The largest batch size that fits, found by planning.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MAX_BATCH_H_
#define SPILLWAY_TOOLS_SPILLWAY_MAX_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace spillway {

struct BatchAttempt {
  int64_t batch_size = 0;
  bool fits = false;
  int64_t peak_device_bytes = 0;  // predicted; where it does not fit: the least
  int64_t peak_host_bytes = 0;
  int64_t step_ns = 0;  // predicted; 0: not known
};

// Batch sizes beyond this are not looked for.
inline constexpr int64_t kMostImages = int64_t{1} << 24;

struct MaxBatch {
  int64_t batch_size = 0;                // 0: not even one image fits
  std::vector<BatchAttempt> tried = {};  // in the order of the search
};

// Doubles or halves from `start` (at least 1) until the answer lies between two
// attempts, then halves that interval; at most `limit` (>= 1). Takes it that
// what fits does so with a smaller batch too. Errors: what `attempt` says.
absl::StatusOr<MaxBatch> FindMaxBatch(
    int64_t start, int64_t limit,
    absl::FunctionRef<absl::StatusOr<BatchAttempt>(int64_t)> attempt);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MAX_BATCH_H_

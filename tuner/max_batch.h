// The largest batch size that fits, found by planning.
#ifndef SPILLWAY_TUNER_MAX_BATCH_H_
#define SPILLWAY_TUNER_MAX_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/session/session.h"
#include "tuner/search/tune_swaps.h"
#include "tuner/step_options.h"

namespace spillway {

struct BatchAttempt {
  int64_t batch_size = 0;
  bool fits = false;
  // Predicted. If it does not fit: the least that it needs, or 0 if finding
  // that would need tuning.
  int64_t peak_device_bytes = 0;
  int64_t peak_host_bytes = 0;
  int64_t step_ns = 0;  // predicted; 0: not known
};

struct MaxBatch {
  int64_t batch_size = 0;                // 0: not even one sample fits
  std::vector<BatchAttempt> tried = {};  // in the order of the search
  // By a StopRequest: batch_size is the largest tried size that fits, or 0.
  bool interrupted = false;
};

struct BatchRange {
  int64_t start = 1;  // where the search begins; below 1 counts as 1
  int64_t limit = int64_t{1} << 24;  // larger sizes are not tried
  StopRequest stop = {};  // called before each attempt except the first
};

// Builds the program of a batch size: graph without swaps, and fetches.
using ProgramOfBatch = absl::FunctionRef<absl::StatusOr<Program>(int64_t)>;

// Tunes each batch size if options.lms needs tuning (NeedsTuning); else plans
// it with these LMS options. Assumes that every smaller batch than one that
// fits also fits: doubles or halves from `start` until the answer lies between
// two attempts, then bisects. Runs nothing. options.stop, which ends the tuning
// of one batch size, also ends the search. Errors: INVALID_ARGUMENT if there is
// no budget to plan for (options.device_memory or a named profile), or if the
// range is empty; errors of `program_of` and of planning.
absl::StatusOr<MaxBatch> FindMaxBatch(ProgramOfBatch program_of,
                                      const StepOptions& options,
                                      const BatchRange& range = {});

// The attempt that the result of tuning stands for: RESOURCE_EXHAUSTED means
// that the batch size does not fit. Errors: all others.
absl::StatusOr<BatchAttempt> AttemptOf(int64_t batch_size,
                                       const absl::StatusOr<TunedStep>& tuned);

// FindMaxBatch for any way to try a batch size. An attempt that is CANCELLED
// ends the search as range.stop does.
absl::StatusOr<MaxBatch> SearchMaxBatch(
    const BatchRange& range,
    absl::FunctionRef<absl::StatusOr<BatchAttempt>(int64_t)> attempt);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MAX_BATCH_H_

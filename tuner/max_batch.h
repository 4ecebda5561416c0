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
  // Predicted. Where it does not fit: the least that it needs, or 0 where it
  // would have to be tuned.
  int64_t peak_device_bytes = 0;
  int64_t peak_host_bytes = 0;
  int64_t step_ns = 0;  // predicted; 0: not known
};

struct MaxBatch {
  int64_t batch_size = 0;                // 0: not even one sample fits
  std::vector<BatchAttempt> tried = {};  // in the order of the search
  // By a StopRequest: batch_size is the largest of those tried that fits, or 0.
  bool interrupted = false;
};

struct BatchRange {
  int64_t start = 1;  // where the search begins; below 1 counts as 1
  int64_t limit = int64_t{1} << 24;  // larger ones are not looked for
  StopRequest stop = {};             // asked before each attempt but the first
};

// Makes the program of a batch size: graph without swaps, and fetches.
using ProgramOfBatch = absl::FunctionRef<absl::StatusOr<Program>(int64_t)>;

// With options.lms to be tuned (NeedsTuning), each batch is tuned; else planned
// with these LMS options. Takes it that what fits does so with a smaller batch
// too: doubles or halves from `start` until the answer lies between two
// attempts, then halves that interval. Nothing runs. options.stop, which ends
// the tuning of one batch size, ends the search too. Errors: INVALID_ARGUMENT
// where there is no budget (options.device_memory or a named profile) to plan
// for, or the range is empty; what `program_of` and planning say.
absl::StatusOr<MaxBatch> FindMaxBatch(ProgramOfBatch program_of,
                                      const StepOptions& options,
                                      const BatchRange& range = {});

// What tuning a step says of its batch size: RESOURCE_EXHAUSTED means that it
// does not fit. Errors: the others.
absl::StatusOr<BatchAttempt> AttemptOf(int64_t batch_size,
                                       const absl::StatusOr<TunedStep>& tuned);

// The same as FindMaxBatch for any way to try a batch size. An attempt that is
// CANCELLED ends the search as range.stop does.
absl::StatusOr<MaxBatch> SearchMaxBatch(
    const BatchRange& range,
    absl::FunctionRef<absl::StatusOr<BatchAttempt>(int64_t)> attempt);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MAX_BATCH_H_

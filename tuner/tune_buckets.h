// Chooses the sizes of the buckets in which gradients are added over ranks
// (training/workers/bucket_plan.h) together with the swaps: small ones begin
// early and need little scratch, large ones pay less latency.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const TunedBuckets tuned, TuneBuckets(
//       program_of, BucketSizes(), {.network = {.workers = 64}}));
#ifndef SPILLWAY_TUNER_TUNE_BUCKETS_H_
#define SPILLWAY_TUNER_TUNE_BUCKETS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/step_options.h"
#include "tuner/tune.h"

namespace spillway {

// 1, 5, 10, 25, 50 and 100 MiB.
std::vector<int64_t> BucketSizes();

struct BucketAttempt {
  int64_t bucket_bytes = 0;
  bool fits = false;
  // Predicted, for the choice with these buckets; 0 if none fits.
  int64_t step_ns = 0;
  int64_t device_bytes = 0;
};

struct TunedBuckets {
  int64_t bucket_bytes = 0;  // the fastest; of equally fast ones, the smallest
  Program program = {};      // with these buckets
  TuneResult tuned = {};
  // In order of the sizes, without those whose graph an earlier size has too.
  std::vector<BucketAttempt> tried = {};
};

// Builds the program with buckets of so many bytes: graph without swaps, and
// fetches.
using ProgramOfBuckets = absl::FunctionRef<absl::StatusOr<Program>(int64_t)>;

// Tunes each size, ascending. options.stop ends the search with the best so
// far. Errors: those of `program_of` and Tune, RESOURCE_EXHAUSTED only if no
// size fits.
absl::StatusOr<TunedBuckets> TuneBuckets(ProgramOfBuckets program_of,
                                         const std::vector<int64_t>& sizes,
                                         const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNE_BUCKETS_H_

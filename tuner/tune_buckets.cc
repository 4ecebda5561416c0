#include "tuner/tune_buckets.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "tuner/saved_plan.h"

namespace spillway {

std::vector<int64_t> BucketSizes() {
  std::vector<int64_t> sizes;
  for (const int64_t mebibytes : {1, 5, 10, 25, 50, 100}) {
    sizes.push_back(mebibytes << 20);
  }
  return sizes;
}

absl::StatusOr<TunedBuckets> TuneBuckets(ProgramOfBuckets program_of,
                                         const std::vector<int64_t>& sizes,
                                         const StepOptions& given) {
  StepOptions options = given;
  std::optional<TunedBuckets> best;
  std::vector<BucketAttempt> tried;
  std::set<std::string> seen;  // fingerprints
  absl::Status refusal = InvalidArgument("buckets: no sizes to try");
  for (const int64_t bytes : sizes) {
    if (best && StopRequested(options.stop)) {
      best->tuned.step.interrupted = true;
      break;
    }
    SPILLWAY_ASSIGN_OR_RETURN(Program program, program_of(bytes));
    if (!seen.insert(GraphFingerprint(program.graph)).second) continue;
    absl::StatusOr<TuneResult> tuned = Tune(program, options);
    options.warns_of_profile = false;
    BucketAttempt& attempt =
        tried.emplace_back(BucketAttempt{.bucket_bytes = bytes});
    if (!tuned.ok()) {
      if (!absl::IsResourceExhausted(tuned.status()) &&
          !(best && absl::IsCancelled(tuned.status()))) {
        return tuned.status();
      }
      refusal = tuned.status();
      continue;
    }
    const EvaluatedRecipe& chosen = tuned->step.chosen;
    attempt.fits = true;
    attempt.step_ns = chosen.step.step_ns;
    attempt.device_bytes = chosen.plan.device_bytes;
    if (best && attempt.step_ns >= best->tuned.step.chosen.step.step_ns) {
      continue;
    }
    best = {.bucket_bytes = bytes,
            .program = std::move(program),
            .tuned = *std::move(tuned)};
  }
  if (!best) return refusal;
  best->tried = std::move(tried);
  return *std::move(best);
}

}  // namespace spillway

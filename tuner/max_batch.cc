#include "tuner/max_batch.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "tuner/choose_step.h"
#include "tuner/prepare_step.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

// Plans the step as it would run: with the algorithms that make it fit the
// budget.
absl::StatusOr<BatchAttempt> PlanBatch(int64_t batch_size,
                                       const Program& program,
                                       const StepOptions& options,
                                       const DeviceProfile& profile) {
  SPILLWAY_ASSIGN_OR_RETURN(const ChosenStep chosen,
                            ChooseStep({.graph = &program.graph,
                                        .fetches = program.fetches,
                                        .options = options,
                                        .is_only_predicted = true}));
  SPILLWAY_ASSIGN_OR_RETURN(const StepFit fit, FitStep(chosen, profile));
  return BatchAttempt{.batch_size = batch_size,
                      .fits = fit.fits.ok(),
                      .peak_device_bytes = fit.plan.device_bytes,
                      .peak_host_bytes = fit.plan.host_bytes};
}

}  // namespace

absl::StatusOr<MaxBatch> FindMaxBatch(ProgramOfBatch program_of,
                                      const StepOptions& given,
                                      const BatchRange& given_range) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(given));
  if (given.plan != nullptr) {
    return InvalidArgument("plan: is for one batch size; leave it out");
  }
  BatchRange range = given_range;
  range.stop = [&] {
    return StopRequested(given_range.stop) || StopRequested(given.stop);
  };
  StepOptions options = given;
  options.log = nullptr;  // do not log batch sizes that are only tried
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(options));
  options.warns_of_profile = false;
  options.device_memory = BudgetFor(options, profile);
  options.host_memory = HostBudgetFor(options, profile);
  if (!options.device_memory) {
    return InvalidArgument(
        "device_memory: the largest batch needs a budget to fit");
  }
  return SearchMaxBatch(
      range, [&](int64_t batch_size) -> absl::StatusOr<BatchAttempt> {
        SPILLWAY_ASSIGN_OR_RETURN(const Program program,
                                  program_of(batch_size));
        SPILLWAY_RETURN_IF_ERROR(CheckUndecided(program));
        if (!NeedsTuning(options.lms)) {
          return PlanBatch(batch_size, program, options, profile);
        }
        return AttemptOf(batch_size,
                         TuneStep({.graph = &program.graph,
                                   .fetches = program.fetches,
                                   .options = &options,
                                   .profile = &profile,
                                   .finds_smallest_budget = false}));
      });
}

absl::StatusOr<BatchAttempt> AttemptOf(int64_t batch_size,
                                       const absl::StatusOr<TunedStep>& tuned) {
  if (absl::IsResourceExhausted(tuned.status())) {
    return BatchAttempt{.batch_size = batch_size};
  }
  SPILLWAY_RETURN_IF_ERROR(tuned.status());
  const EvaluatedRecipe& chosen = tuned->chosen;
  return BatchAttempt{.batch_size = batch_size,
                      .fits = true,
                      .peak_device_bytes = chosen.plan.device_bytes,
                      .peak_host_bytes = chosen.plan.host_bytes,
                      .step_ns = chosen.step.step_ns};
}

absl::StatusOr<MaxBatch> SearchMaxBatch(
    const BatchRange& range,
    absl::FunctionRef<absl::StatusOr<BatchAttempt>(int64_t)> attempt) {
  if (range.limit < 1) {
    return InvalidArgument(fmt::format(
        "the largest batch size to look for is {}; it must be at least 1",
        range.limit));
  }
  constexpr int64_t kMost = int64_t{1} << 61;  // doubling it does not overflow
  const int64_t limit = std::min(range.limit, kMost);
  MaxBatch result;
  int64_t& most = result.batch_size;  // known to fit
  int64_t least = limit + 1;          // known not to fit, or not allowed
  for (int64_t next = std::clamp<int64_t>(range.start, 1, limit);
       most + 1 < least;) {
    if (!result.tried.empty() && StopRequested(range.stop)) {
      result.interrupted = true;
      break;
    }
    const absl::StatusOr<BatchAttempt> tried = attempt(next);
    if (absl::IsCancelled(tried.status())) {
      result.interrupted = true;
      break;
    }
    SPILLWAY_RETURN_IF_ERROR(tried.status());
    result.tried.push_back(*tried);
    (tried->fits ? most : least) = next;
    if (least > limit) {
      next = std::min(2 * most, limit);
    } else {
      next = most + (least - most) / 2;
    }
  }
  return result;
}

}  // namespace spillway

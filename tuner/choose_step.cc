#include "tuner/choose_step.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "tuner/prepare_step.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/saved_plan.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

// The options that results show: the tuner's, unless the recipe is a set of
// TFLMS.
LmsOptions OptionsOf(const StepRecipe& recipe) {
  LmsOptions options = recipe.options;
  if (options.mode == LmsMode::kOff) options.mode = LmsMode::kAuto;
  return options;
}

TimedSchedule OrderOf(StepRecipe recipe) {
  recipe.placement.may_exceed_within = true;
  return {.schedule = std::move(recipe.schedule),
          .placement = std::move(recipe.placement)};
}

absl::Status CheckPlan(const SavedPlan& plan, const StepChoiceSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckIsPlanOf(plan, *spec.graph), "plan"));
  for (const ValueId fetch : spec.fetches) {
    if (std::ranges::count(plan.fetches, fetch) > 0) continue;
    return InvalidArgument(
        fmt::format("plan: was tuned for a step that does not return {}",
                    spec.graph->ValueName(fetch)));
  }
  return absl::OkStatus();
}

absl::Status CheckPeak(std::string_view field, int64_t stated, int64_t real) {
  if (stated == real) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "plan: field \"{}\" is {}, but the plan needs {} bytes; tune again",
      field, stated, real));
}

// Checks the stated peaks against those of the plan within its own budgets.
// Kernels with other workspaces than those it was tuned with need other bytes,
// which is no error; neither is, here, a plan that this machine cannot run.
absl::Status CheckPeaks(const SavedPlan& plan, const ChosenStep& chosen) {
  if (plan.workspaces.empty()) return absl::OkStatus();
  StepOptions options = chosen.options;
  options.device_memory = plan.device_memory;
  options.host_memory = plan.host_memory;
  absl::StatusOr<PlanInputs> inputs =
      PreparePlan({.graph = &chosen.graph,
                   .fetches = chosen.fetches,
                   .options = &options,
                   .algorithms = chosen.algorithms});
  if (!inputs.ok()) return absl::OkStatus();
  inputs->options.placement = chosen.order->placement;
  const absl::StatusOr<ExecutionPlan> real = CompilePlan(
      chosen.graph, *options.ops, chosen.order->schedule, inputs->options);
  if (!real.ok() || WorkspaceDigest(*real) != plan.workspaces) {
    return absl::OkStatus();
  }
  SPILLWAY_RETURN_IF_ERROR(
      CheckPeak("peak_device_bytes", plan.device_bytes, real->device_bytes));
  return CheckPeak("peak_host_bytes", plan.host_bytes, real->host_bytes);
}

absl::Status CheckBudget(const SavedPlan& plan, const StepOptions& options) {
  const std::optional<int64_t>& given = options.device_memory;
  if (!given || *given >= plan.device_bytes) return absl::OkStatus();
  return ResourceExhausted(fmt::format(
      "device_memory: {} is below the {} ({} bytes) that the plan needs; tune "
      "for that budget",
      FormatBytes(*given), FormatBytes(plan.device_bytes), plan.device_bytes));
}

// With the budget that the plan was made for, planning reproduces it byte for
// byte. A larger given budget helps if kernels need more scratch than the
// kernels that it was tuned with.
void SetBudgets(const SavedPlan& plan, ChosenStep& chosen) {
  std::optional<int64_t>& budget = chosen.options.device_memory;
  if (plan.device_memory && budget.value_or(0) > *plan.device_memory) {
    std::optional<int64_t>& within = chosen.order->placement.within_bytes;
    if (!within) within = plan.device_memory;
  } else {
    chosen.device_limit = budget;
    budget = plan.device_memory;
  }
  if (!chosen.options.host_memory) {
    chosen.options.host_memory = plan.host_memory;
  }
}

absl::StatusOr<ChosenStep> FromPlan(const StepChoiceSpec& spec) {
  const SavedPlan& plan = *spec.options.plan;
  SPILLWAY_RETURN_IF_ERROR(CheckPlan(plan, spec));
  ChosenStep chosen = {.lms = OptionsOf(plan.recipe),
                       .name = plan.recipe.name,
                       .algorithms = plan.recipe.algorithms,
                       .fetches = plan.fetches,
                       .options = spec.options};
  SPILLWAY_ASSIGN_OR_RETURN(
      chosen.graph, ApplyRecipe(plan.recipe, *spec.options.ops, *spec.graph));
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckFits(plan.recipe, chosen.graph), "plan"));
  const absl::Status order = CheckSchedule(
      chosen.graph, NodesToRun(chosen.graph, *spec.options.ops, chosen.fetches),
      plan.recipe.schedule);
  if (!order.ok()) return Annotate(order, "plan: field \"steps\"");
  chosen.edit = MakeReport(plan.recipe.recompute, plan.recipe.swaps,
                           *spec.graph, chosen.graph);
  chosen.order = OrderOf(plan.recipe);
  chosen.options.plan = nullptr;  // borrowed for this call
  SPILLWAY_RETURN_IF_ERROR(CheckPeaks(plan, chosen));
  SPILLWAY_RETURN_IF_ERROR(CheckBudget(plan, spec.options));
  SetBudgets(plan, chosen);
  return chosen;
}

// The profile to choose by. A step that will run can only take algorithms of
// this machine's libraries.
absl::StatusOr<DeviceProfile> ProfileFor(const StepChoiceSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(DeviceProfile profile,
                            ResolveProfile(spec.options));
  if (spec.is_only_predicted || profile.libraries.empty()) return profile;
  SPILLWAY_ASSIGN_OR_RETURN(const std::string libraries,
                            LibrariesOf(spec.options));
  if (profile.libraries != libraries) profile.algorithms.clear();
  return profile;
}

absl::StatusOr<ChosenStep> Tuned(const StepChoiceSpec& spec) {
  ChosenStep chosen = {.fetches = spec.fetches, .options = spec.options};
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFor(spec));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t budget, DeviceBudget(spec.options));
  chosen.options.device_memory = budget;
  if (budget < spec.reserved_bytes) {
    return ResourceExhausted(fmt::format(
        "device_memory: {} is less than the {} bytes of variables and "
        "constants that are not this step's",
        Counted(budget, "byte"), spec.reserved_bytes));
  }
  StepOptions within = chosen.options;
  within.device_memory = budget - spec.reserved_bytes;
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(TunedStep tuned,
                            TuneStep({.graph = spec.graph,
                                      .fetches = spec.fetches,
                                      .options = &within,
                                      .profile = &profile,
                                      .reserved_bytes = spec.reserved_bytes}));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  LogChoice(spec.options, tuned);
  EvaluatedRecipe& best = tuned.chosen;
  chosen.lms = OptionsOf(best.recipe);
  chosen.name = best.recipe.name;
  chosen.edit = MakeReport(best.recipe.recompute, best.recipe.swaps,
                           *spec.graph, best.graph);
  chosen.edit.edit_ns = taken.count();
  chosen.search = {.reason = std::move(tuned.reason),
                   .step_ns = best.step.step_ns,
                   .tried = std::move(tuned.tried)};
  chosen.graph = std::move(best.graph);
  chosen.algorithms = std::move(best.recipe.algorithms);
  chosen.order = OrderOf(std::move(best.recipe));
  return chosen;
}

// For fixed swaps. Kernels are asked only if the answer may differ from their
// first algorithms, since asking them requires preparing them.
absl::StatusOr<AlgorithmNames> ChooseAlgorithms(const StepChoiceSpec& spec,
                                                const Graph& edited) {
  if (spec.options.algorithms == AlgorithmChoice::kFirst) {
    return AlgorithmNames();
  }
  const bool are_same = spec.options.algorithms == AlgorithmChoice::kSame;
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFor(spec));
  if (profile.algorithms.empty() && (are_same || !spec.options.device_memory)) {
    return AlgorithmNames();
  }
  const PlanSpec plan = {.graph = &edited,
                         .fetches = spec.fetches,
                         .options = &spec.options,
                         .profile = &profile};
  SPILLWAY_ASSIGN_OR_RETURN(PlanInputs inputs, PreparePlan(plan));
  if (are_same) {
    KeepFastest(inputs.algorithms);
    return ChooseWithin(inputs.algorithms, 0);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t budget, DeviceBudget(spec.options));
  return FitAlgorithms(plan, inputs, budget - spec.reserved_bytes);
}

}  // namespace

absl::StatusOr<ChosenStep> ChooseStep(const StepChoiceSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(spec.options));
  if (spec.options.plan != nullptr) return FromPlan(spec);
  if (NeedsTuning(spec.options.lms)) return Tuned(spec);
  ChosenStep chosen = {.graph = *spec.graph,
                       .lms = spec.options.lms,
                       .fetches = spec.fetches,
                       .options = spec.options};
  SPILLWAY_ASSIGN_OR_RETURN(chosen.edit, EditGraph(spec.options, chosen.graph));
  SPILLWAY_ASSIGN_OR_RETURN(chosen.algorithms,
                            ChooseAlgorithms(spec, chosen.graph));
  return chosen;
}

absl::StatusOr<LmsReport> EditGraph(const StepOptions& options, Graph& graph) {
  if (options.lms.mode == LmsMode::kOff && !Recomputes(options.lms)) {
    return MakeReport({}, {}, graph, graph);
  }
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(LmsReport report,
                            ApplyLms(options.lms, *options.ops, graph));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  report.edit_ns = taken.count();
  if (options.log) {
    for (const std::string& line : LogLines(options.lms, report)) {
      options.log(line);
    }
  }
  return report;
}

Program ProgramOf(ChosenStep step) {
  return {.graph = std::move(step.graph),
          .fetches = std::move(step.fetches),
          .order = std::move(step.order),
          .algorithms = std::move(step.algorithms)};
}

}  // namespace spillway

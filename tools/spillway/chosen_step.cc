#include "tools/spillway/chosen_step.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "ops/all_ops.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/profile_files.h"
#include "tools/spillway/tuning.h"

namespace spillway {
namespace {

// As results show it: the tuner's, unless it is a set of TFLMS.
LmsOptions OptionsOf(const StepRecipe& recipe) {
  LmsOptions options = recipe.options;
  if (options.mode == LmsMode::kOff) options.mode = LmsMode::kAuto;
  return options;
}

TimedSchedule OrderOf(StepRecipe recipe) {
  return {.schedule = std::move(recipe.schedule),
          .placement = std::move(recipe.placement)};
}

absl::StatusOr<ChosenStep> FromFile(const StepChoiceSpec& spec) {
  absl::StatusOr<SavedPlan> read = ReadSavedPlan(spec.plan, *spec.graph);
  if (!read.ok()) return Annotate(read.status(), "--plan");
  SavedPlan& plan = *read;
  const std::optional<int64_t>& given = spec.memory.device_memory;
  if (given && *given < plan.device_bytes) {
    return ResourceExhausted(fmt::format(
        "--device_memory: {} is below the {} ({} bytes) that --plan {} needs; "
        "tune for that budget",
        FormatBytes(*given), FormatBytes(plan.device_bytes), plan.device_bytes,
        spec.plan));
  }
  for (const ValueId fetch : spec.fetches) {
    if (std::ranges::count(plan.fetches, fetch) > 0) continue;
    return InvalidArgument(
        fmt::format("--plan: {} was tuned for a step that does not return {}",
                    spec.plan, spec.graph->ValueName(fetch)));
  }
  ChosenStep chosen = {.lms = OptionsOf(plan.recipe),
                       .name = plan.recipe.name,
                       .fetches = plan.fetches,
                       .memory = spec.memory};
  SPILLWAY_ASSIGN_OR_RETURN(chosen.graph,
                            ApplyRecipe(plan.recipe, *spec.graph));
  const absl::Status order = CheckSchedule(
      chosen.graph, NodesToRun(chosen.graph, StandardOps(), chosen.fetches),
      plan.recipe.schedule);
  if (!order.ok()) {
    return Annotate(order,
                    fmt::format("--plan: {}: field \"steps\"", spec.plan));
  }
  chosen.edit = MakeReport(plan.recipe.swaps, *spec.graph, chosen.graph);
  chosen.algorithms = std::move(plan.recipe.algorithms);
  chosen.order = OrderOf(std::move(plan.recipe));
  chosen.memory.device_memory = plan.device_memory;
  if (!spec.memory.host_memory) chosen.memory.host_memory = plan.host_memory;
  return chosen;
}

// The profile to choose by. What is to run can take algorithms of this
// machine's libraries only.
absl::StatusOr<DeviceProfile> ProfileFor(const StepChoiceSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(DeviceProfile profile,
                            ResolveProfile(spec.profile, spec.device));
  if (spec.is_only_predicted || profile.libraries.empty()) return profile;
  SPILLWAY_ASSIGN_OR_RETURN(const std::string libraries,
                            LibrariesOf(spec.device));
  if (profile.libraries != libraries) profile.algorithms.clear();
  return profile;
}

absl::StatusOr<ChosenStep> Tuned(const StepChoiceSpec& spec) {
  ChosenStep chosen = {.fetches = spec.fetches, .memory = spec.memory};
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFor(spec));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t budget,
                            DeviceBudget(spec.device, spec.memory));
  chosen.memory.device_memory = budget;
  TuningSpec tuning = {.graph = spec.graph,
                       .fetches = spec.fetches,
                       .device = &spec.device,
                       .memory = chosen.memory,
                       .lms = spec.lms,
                       .profile = &profile};
  tuning.memory.device_memory = budget - spec.reserved_bytes;
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(TunedStep tuned, TuneStep(tuning));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  EvaluatedRecipe& best = tuned.chosen;
  fmt::print(stderr, "[LMS][0] {}\n[LMS][0] Chosen: {}, of {} tried\n",
             tuned.reason, best.recipe.name, tuned.tried.size());
  chosen.lms = OptionsOf(best.recipe);
  chosen.name = best.recipe.name;
  chosen.edit = MakeReport(best.recipe.swaps, *spec.graph, best.graph);
  chosen.edit.edit_ns = taken.count();
  chosen.graph = std::move(best.graph);
  chosen.algorithms = std::move(best.recipe.algorithms);
  chosen.order = OrderOf(std::move(best.recipe));
  return chosen;
}

// For swaps that the flags have fixed. Kernels are asked only where the answer
// may be another than their first algorithms, since that takes preparing them.
absl::StatusOr<AlgorithmNames> ChooseAlgorithms(const StepChoiceSpec& spec,
                                                const Graph& edited) {
  if (!spec.device.chooses_algorithms()) return AlgorithmNames();
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFor(spec));
  if (profile.algorithms.empty() && !spec.memory.device_memory) {
    return AlgorithmNames();
  }
  const PlanSpec plan = {.graph = &edited,
                         .fetches = spec.fetches,
                         .device = &spec.device,
                         .memory = spec.memory,
                         .profile = &profile};
  SPILLWAY_ASSIGN_OR_RETURN(const PlanInputs inputs, PreparePlan(plan));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t budget,
                            DeviceBudget(spec.device, spec.memory));
  return FitAlgorithms(plan, inputs, budget - spec.reserved_bytes);
}

}  // namespace

void AddPlanFlag(FlagSet& set, std::string& plan) {
  set.Text("--plan", plan,
           "run what tune saved in this file: its swaps, order and budgets");
}

absl::StatusOr<ChosenStep> ChooseStep(const StepChoiceSpec& spec) {
  if (!spec.plan.empty()) {
    if (spec.lms.mode == LmsMode::kOff) return FromFile(spec);
    return InvalidArgument("--plan excludes --lms: the file says what to swap");
  }
  if (NeedsTuning(spec.lms)) return Tuned(spec);
  ChosenStep chosen = {.graph = *spec.graph,
                       .lms = spec.lms,
                       .fetches = spec.fetches,
                       .memory = spec.memory};
  SPILLWAY_ASSIGN_OR_RETURN(chosen.edit, EditGraph(spec.lms, chosen.graph));
  SPILLWAY_ASSIGN_OR_RETURN(chosen.algorithms,
                            ChooseAlgorithms(spec, chosen.graph));
  return chosen;
}

SavedPlan ToSavedPlan(const TunedStep& tuned,
                      const std::vector<ValueId>& fetches,
                      const MemoryFlags& memory) {
  return {.recipe = tuned.chosen.recipe,
          .fetches = fetches,
          .device_memory = memory.device_memory,
          .host_memory = memory.host_memory,
          .device_bytes = tuned.chosen.plan.device_bytes,
          .host_bytes = tuned.chosen.plan.host_bytes,
          .step_ns = tuned.chosen.step.step_ns};
}

Program ProgramOf(ChosenStep step) {
  return {.graph = std::move(step.graph),
          .fetches = std::move(step.fetches),
          .order = std::move(step.order),
          .algorithms = std::move(step.algorithms)};
}

}  // namespace spillway

#include "tuner/tune.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "lms/tflms/report.h"
#include "simulator/cost_model.h"
#include "tuner/prepare_choices.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/search/smallest_budget.h"
#include "tuner/search/tflms_sets.h"
#include "tuner/search/tune_algorithms.h"
#include "tuner/tune_policy.h"

namespace spillway {
namespace {

// Owns the data that TunerInputs borrows.
class Preparation {
 public:
  absl::Status Prepare(const TuningSpec& spec) {
    const OpRegistry& ops = *spec.options->ops;
    StepOptions options = *spec.options;
    options.schedule = ScheduleKind::kCreation;  // the tuner chooses
    SPILLWAY_ASSIGN_OR_RETURN(plan_, PreparePlan({.graph = spec.graph,
                                                  .fetches = spec.fetches,
                                                  .options = &options,
                                                  .profile = spec.profile}));
    switch (options.algorithms) {
      case AlgorithmChoice::kSame:
        KeepFastest(plan_.algorithms);
        break;
      case AlgorithmChoice::kFirst:
        plan_.algorithms = {};
        break;
      case AlgorithmChoice::kAuto:
        break;
    }
    keep_ = NodesToRun(*spec.graph, ops, spec.fetches);
    kernel_ns_ = EstimateKernelTimes(*spec.graph, ops, *spec.profile);
    SPILLWAY_ASSIGN_OR_RETURN(choices_,
                              PrepareChoices({.graph = spec.graph,
                                              .options = &options,
                                              .profile = spec.profile}));
    return absl::OkStatus();
  }

  const KnownAlgorithms& algorithms() const { return plan_.algorithms; }
  TunerInputs Inputs(const TuningSpec& spec) const {
    return {.graph = *spec.graph,
            .ops = *spec.options->ops,
            .keep = keep_,
            .compile = plan_.options,
            .kernel_ns = kernel_ns_,
            .profile = *spec.profile,
            .choices = choices_ ? &*choices_ : nullptr};
  }

 private:
  PlanInputs plan_;
  std::optional<RecomputeChoices> choices_;
  IdMap<NodeId, bool> keep_;
  IdMap<NodeId, int64_t> kernel_ns_;
};

// Replaces a `status` which says that nothing fits: an interrupted search
// cannot know that.
absl::Status CancelledIf(bool interrupted, const absl::Status& status) {
  if (!interrupted || !absl::IsResourceExhausted(status)) return status;
  return absl::CancelledError(status.message());
}

StopRequest StopAfter(std::optional<double> seconds) {
  constexpr double kForever = 1e9;  // longer does not fit the clock
  if (!seconds || *seconds > kForever) return nullptr;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(*seconds));
  return [end] { return Clock::now() >= end; };
}

// A hint at the end of the message, for a shortage of memory.
absl::Status AlgorithmsHint(const absl::Status& status) {
  return WithMessage(
      status, fmt::format("{}; AlgorithmChoice::kAuto may choose smaller "
                          "workspaces",
                          std::string(status.message())));
}

// Adds the reserved bytes, which the user's budget includes.
absl::Status RefusalOf(MemoryShortage shortage, int64_t reserved_bytes) {
  shortage.needed_bytes += reserved_bytes;
  shortage.budget_bytes += reserved_bytes;
  shortage.floor_bytes += reserved_bytes;
  return Annotate(ShortageError(shortage), "nothing that was tried fits");
}

TriedSet ToTriedSet(const TflmsTrial& trial, const LmsOptions& common) {
  TriedSet tried;
  tried.options = WithSet(common, trial.set);
  tried.name = DescribeOptions(tried.options);
  tried.fits = trial.accepted;
  if (!trial.accepted) tried.reason = "TFLMS's simulator: does not fit";
  tried.device_bytes = trial.play.peak_device_bytes;
  tried.host_bytes = trial.play.peak_host_bytes;
  return tried;
}

// A lower bound on the memory of every plan of the graph without swaps. Clones
// only add to what has to run.
absl::Status FindFloorOf(const TuningSpec& spec, TuneResult& result) {
  AlgorithmNames algorithms = result.step.chosen.recipe.algorithms;
  if (algorithms.size() > spec.graph->num_nodes()) {
    algorithms.resize(spec.graph->num_nodes());
  }
  SPILLWAY_ASSIGN_OR_RETURN(const PlanInputs inputs,
                            PreparePlan({.graph = spec.graph,
                                         .fetches = spec.fetches,
                                         .options = spec.options,
                                         .profile = spec.profile,
                                         .algorithms = std::move(algorithms)}));
  result.floor = FindFloor(*spec.graph, *spec.options->ops, inputs.schedule,
                           inputs.options);
  if (result.floor.node.is_valid()) {
    result.floor_node = spec.graph->node(result.floor.node).name;
  }
  return absl::OkStatus();
}

using TuneFn = std::function<absl::StatusOr<TunedStep>(const TuningSpec&)>;

absl::StatusOr<TuneResult> TuneWith(const Program& program,
                                    const StepOptions& options,
                                    const TuneFn& tune) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  SPILLWAY_RETURN_IF_ERROR(CheckUndecided(program));
  TuneResult result;
  result.fetches = program.fetches;
  result.options = options;
  result.options.plan = nullptr;  // borrowed for this call
  SPILLWAY_ASSIGN_OR_RETURN(result.profile, ResolveProfile(options));
  SPILLWAY_ASSIGN_OR_RETURN(result.options.device_memory,
                            TuningBudget(options, result.profile));
  result.options.host_memory = HostBudgetFor(options, result.profile);
  const TuningSpec spec = {.graph = &program.graph,
                           .fetches = program.fetches,
                           .options = &result.options,
                           .profile = &result.profile};
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(result.step, tune(spec));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  result.tuning_ns = taken.count();
  SPILLWAY_RETURN_IF_ERROR(FindFloorOf(spec, result));
  result.fingerprint = GraphFingerprint(program.graph);
  return result;
}

// The fastest swaps for a step with these clones.
absl::StatusOr<TunedStep> TuneSwapsOf(const TuningSpec& spec,
                                      const RecomputePlan* clones) {
  Preparation preparation;
  SPILLWAY_RETURN_IF_ERROR(preparation.Prepare(spec));
  bool interrupted = false;
  const StopRequest time_is_up = StopAfter(spec.options->time_limit);
  const auto stop = [&] {
    interrupted = interrupted || StopRequested(spec.options->stop);
    return interrupted || StopRequested(time_is_up);
  };
  TunerInputs inputs = preparation.Inputs(spec);
  inputs.recompute = clones;
  TunerOptions options = {.lms = spec.options->lms,
                          .stop = stop,
                          .on_tried = spec.options->on_tried,
                          .effort = spec.options->effort,
                          .start = spec.start};
  absl::StatusOr<TunedStep> tuned =
      TuneAlgorithms(inputs, preparation.algorithms(), options);
  if (tuned.ok()) {
    tuned->interrupted = interrupted;
    return tuned;
  }
  absl::Status status = tuned.status();
  if (!absl::IsResourceExhausted(status)) return status;
  if (spec.finds_smallest_budget && !stop()) {
    options.on_tried = nullptr;
    const std::optional<MemoryShortage> shortage =
        FindSmallestBudget(inputs, preparation.algorithms(), options);
    if (shortage) status = RefusalOf(*shortage, spec.reserved_bytes);
  }
  const bool may_shrink = spec.options->algorithms == AlgorithmChoice::kSame &&
                          HasTimes(preparation.algorithms());
  return CancelledIf(interrupted, may_shrink ? AlgorithmsHint(status) : status);
}

}  // namespace

absl::StatusOr<TunedStep> TuneStep(const TuningSpec& spec) {
  const LmsOptions& lms = spec.options->lms;
  if (!Recomputes(lms)) return TuneSwapsOf(spec, nullptr);
  const OpRegistry& ops = *spec.options->ops;
  SPILLWAY_ASSIGN_OR_RETURN(RecomputePlan plan,
                            PlanRecompute(lms, ops, *spec.graph));
  SPILLWAY_ASSIGN_OR_RETURN(const Graph recomputed,
                            WithClones(plan, ops, *spec.graph));
  TuningSpec with_clones = spec;
  with_clones.graph = &recomputed;
  SPILLWAY_ASSIGN_OR_RETURN(TunedStep tuned, TuneSwapsOf(with_clones, &plan));
  tuned.chosen.recipe.recompute = std::move(plan);
  tuned.chosen.recipe.options.recompute = lms.recompute;
  return tuned;
}

void LogChoice(const StepOptions& options, const TunedStep& tuned) {
  if (!options.log) return;
  options.log(fmt::format("[LMS][0] {}", tuned.reason));
  options.log(fmt::format("[LMS][0] Chosen: {}, of {} tried",
                          tuned.chosen.recipe.name, tuned.tried.size()));
}

absl::StatusOr<TunedStep> TuneStepAsTflms(const TuningSpec& spec,
                                          const TflmsRequest& request) {
  if (Recomputes(spec.options->lms)) {
    return InvalidArgument(
        "lms_recompute: TFLMS recomputes nothing; leave it out with TFLMS's "
        "strategy");
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const TflmsResult found,
      SearchTflms(request, *spec.graph, spec.options->stop));
  if (spec.options->log) {
    for (const std::string& line : TflmsLogLines(found)) {
      spec.options->log(line);
    }
  }
  SPILLWAY_RETURN_IF_ERROR(found.status);
  Preparation preparation;
  SPILLWAY_RETURN_IF_ERROR(preparation.Prepare(spec));
  TunerInputs inputs = preparation.Inputs(spec);
  inputs.choices = nullptr;
  SPILLWAY_ASSIGN_OR_RETURN(const StepRecipe recipe,
                            RecipeOf(inputs, found.options));
  TunedStep tuned;
  tuned.is_necessary = found.necessary;
  tuned.reason = found.passed ? "what TFLMS's search chooses"
                              : "what TFLMS's search chooses, though its "
                                "simulator says that it does not fit";
  for (const TflmsTrial& trial : found.tried) {
    tuned.tried.push_back(ToTriedSet(trial, found.options));
    if (spec.options->on_tried) spec.options->on_tried(tuned.tried.back());
  }
  SPILLWAY_ASSIGN_OR_RETURN(tuned.chosen, Evaluate(inputs, recipe));
  tuned.bound = BoundOf(inputs, tuned.chosen.recipe);
  return tuned;
}

absl::StatusOr<TuneResult> Tune(const Program& program,
                                const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(TuneResult result,
                            TuneWith(program, options, TuneStep));
  LogChoice(options, result.step);
  return result;
}

absl::StatusOr<TuneResult> TuneAsTflms(const Program& program,
                                       const StepOptions& options,
                                       const TflmsRequest& request) {
  return TuneWith(program, options, [&](const TuningSpec& spec) {
    return TuneStepAsTflms(spec, request);
  });
}

absl::StatusOr<TuneResult> TuneAsPolicy(const Program& program,
                                        const StepOptions& options,
                                        std::string_view policy) {
  const auto tune = [&](const TuningSpec& spec) -> absl::StatusOr<TunedStep> {
    SPILLWAY_ASSIGN_OR_RETURN(EvaluatedPolicy evaluated,
                              TuneStepAsPolicy(spec, policy));
    if (!evaluated.result.fits) {
      return ResourceExhausted(fmt::format("the policy {} does not fit: {}",
                                           std::string(policy),
                                           evaluated.result.reason));
    }
    if (!evaluated.chosen) {
      return InvalidArgument(
          fmt::format("the policy {} makes no plan", std::string(policy)));
    }
    TunedStep tuned = {.is_necessary = true,
                       .reason = "what this policy chooses",
                       .chosen = *std::move(evaluated.chosen),
                       .bound = evaluated.bound};
    tuned.tried = {ToTriedSet(tuned.chosen.recipe, tuned.chosen)};
    return tuned;
  };
  return TuneWith(program, options, tune);
}

SavedPlan PlanOf(const TuneResult& result) {
  const EvaluatedRecipe& chosen = result.step.chosen;
  return {.fingerprint = result.fingerprint,
          .recipe = chosen.recipe,
          .fetches = result.fetches,
          .device_memory = result.options.device_memory,
          .host_memory = result.options.host_memory,
          .device_bytes = chosen.plan.device_bytes,
          .host_bytes = chosen.plan.host_bytes,
          .step_ns = chosen.step.step_ns,
          .workspaces = WorkspaceDigest(chosen.plan)};
}

absl::Status SavePlan(const TuneResult& result, const Graph& graph,
                      const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string text,
      FormatSavedPlan(PlanOf(result), graph, *result.options.ops));
  return WriteFileAtomically(path, text);
}

StepTimeBound BoundFor(const Graph& original, const PlanInputs& inputs,
                       const OpRegistry& ops, const DeviceProfile& profile,
                       const RecomputeChoices* choices) {
  const IdMap<NodeId, bool> keep;
  const IdMap<NodeId, int64_t> kernel_ns =
      EstimateKernelTimes(original, ops, profile);
  KnownAlgorithms algorithms = inputs.algorithms;
  if (!algorithms.empty()) algorithms.resize(original.num_nodes());
  return BoundOfAny({.graph = original,
                     .ops = ops,
                     .keep = keep,
                     .compile = inputs.options,
                     .kernel_ns = kernel_ns,
                     .profile = profile,
                     .choices = choices},
                    algorithms, {.schedule = inputs.schedule});
}

std::optional<int64_t> BudgetFor(const StepOptions& options,
                                 const DeviceProfile& profile) {
  if (options.device_memory || !IsNamed(options.profile)) {
    return options.device_memory;
  }
  return profile.memory_bytes;
}

std::optional<int64_t> HostBudgetFor(const StepOptions& options,
                                     const DeviceProfile& profile) {
  if (options.host_memory || !IsNamed(options.profile) ||
      profile.host_memory_bytes == 0) {
    return options.host_memory;
  }
  return profile.host_memory_bytes / 2;
}

absl::StatusOr<int64_t> TuningBudget(const StepOptions& options,
                                     const DeviceProfile& profile) {
  const std::optional<int64_t> budget = BudgetFor(options, profile);
  return budget ? *budget : DeviceBudget(options);
}

}  // namespace spillway

#include "tuner/model/evaluate.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Placements that are simulated in one round.
constexpr size_t kPlacements = 8;

class Evaluator {
 public:
  Evaluator(const TunerInputs& inputs, StepRecipe recipe)
      : inputs_(inputs),
        compile_(inputs.compile),
        kernel_ns_(inputs.kernel_ns) {
    best_.recipe = std::move(recipe);
  }

  absl::Status Prepare() {
    SPILLWAY_ASSIGN_OR_RETURN(
        best_.graph, ApplyRecipe(best_.recipe, inputs_.ops, inputs_.graph));
    DropIdleNodes();
    kernel_ns_.resize(best_.graph.num_nodes(), 0);
    AddClones();
    return absl::OkStatus();
  }

  absl::Status EvaluateOnce() {
    SPILLWAY_ASSIGN_OR_RETURN(ExecutionPlan plan,
                              CompilePlan(best_.graph, inputs_.ops,
                                          best_.recipe.schedule, Options()));
    Offer(std::move(plan), best_.recipe.placement);
    return absl::OkStatus();
  }

  // False if nothing was placed by the expected times.
  absl::StatusOr<bool> PlaceByTime(const IdMap<NodeId, Interval>& expected_ns) {
    CompileOptions options = Options();
    options.placement.expected_ns = expected_ns;
    SPILLWAY_ASSIGN_OR_RETURN(
        std::vector<ExecutionPlan> plans,
        CompileByTime(best_.graph, inputs_.ops, best_.recipe.schedule, options,
                      kPlacements));
    last_ = {};
    for (size_t i = 0; i < plans.size(); ++i) {
      options.placement.index = i;
      Offer(std::move(plans[i]), options.placement);
    }
    return !plans.empty();
  }

  bool has_plan() const { return has_plan_; }
  const SimulatedStep& last() const { return last_; }

  absl::StatusOr<EvaluatedRecipe> Take() && {
    SPILLWAY_RETURN_IF_ERROR(VerifyPlan(best_.plan, best_.graph, inputs_.ops));
    return std::move(best_);
  }

  // When the nodes ran in `step`. A swap-in is expected no later than before.
  IdMap<NodeId, Interval> TimesOf(const SimulatedStep& step,
                                  const IdMap<NodeId, Interval>& before) const {
    std::unordered_map<std::string_view, const Span*> spans;
    for (const Span& span : step.timeline.spans) spans[span.name] = &span;
    IdMap<NodeId, Interval> times(best_.graph.num_nodes());
    for (const Node& node : best_.graph.nodes()) {
      const auto span = spans.find(node.name);
      if (span == spans.end()) continue;
      Interval& time = times[node.id];
      time = {span->second->begin_ns, span->second->end_ns};
      if (CopiesToDevice(node.op) && !before.empty()) {
        time.begin = std::min(time.begin, before[node.id].begin);
      }
    }
    return times;
  }

 private:
  // An alias runs no more if all its readers now read an alias of a copy. In a
  // step of more nodes than the fetches need, it may have other readers.
  void DropIdleNodes() {
    const std::vector<ValueId>& fetches = compile_.fetches;
    if (NodesToRun(inputs_.graph, inputs_.ops, fetches) != inputs_.keep) return;
    const IdMap<NodeId, bool> runs =
        NodesToRun(best_.graph, inputs_.ops, fetches);
    Schedule& schedule = best_.recipe.schedule;
    if (std::erase_if(schedule.order, [&](NodeId id) { return !runs[id]; }) ==
        0) {
      return;
    }
    SetSteps(best_.graph.num_nodes(), schedule);
  }

  void AddClones() {
    const size_t nodes = inputs_.graph.num_nodes();
    IdMap<NodeId, int64_t>& workspaces = compile_.workspace_bytes;
    if (!workspaces.empty()) workspaces.resize(best_.graph.num_nodes(), 0);
    for (size_t i = 0; i < best_.recipe.recompute.clones.size(); ++i) {
      const DerivedKernel kernel = KernelOf(best_.recipe.recompute.clones[i]);
      kernel_ns_[NodeId(nodes + i)] = kernel.ns;
      if (workspaces.empty()) continue;
      workspaces[NodeId(nodes + i)] = kernel.workspace_bytes;
    }
  }

  DerivedKernel KernelOf(const Clone& clone) const {
    if (clone.derived_output >= 0) {
      const ValueId value =
          inputs_.graph.output(clone.original, clone.derived_output);
      return inputs_.choices == nullptr ? DerivedKernel()
                                        : inputs_.choices->derived[value];
    }
    DerivedKernel kernel = {.ns = inputs_.kernel_ns[clone.original]};
    if (!inputs_.compile.workspace_bytes.empty()) {
      kernel.workspace_bytes = inputs_.compile.workspace_bytes[clone.original];
    }
    return kernel;
  }

  CompileOptions Options() const {
    return OptionsFor(best_.recipe, best_.graph, compile_);
  }

  void Offer(ExecutionPlan plan, const TimedPlacement& placement) {
    SimulatedStep step =
        SimulateStep(plan, best_.graph, kernel_ns_, inputs_.profile);
    if (last_.step_ns == 0 || step.step_ns < last_.step_ns) last_ = step;
    if (has_plan_ && step.step_ns >= best_.step.step_ns) return;
    has_plan_ = true;
    best_.plan = std::move(plan);
    best_.step = std::move(step);
    best_.recipe.placement = placement;
  }

  const TunerInputs& inputs_;
  CompileOptions compile_;            // of the graph with clones
  IdMap<NodeId, int64_t> kernel_ns_;  // of the edited graph
  bool has_plan_ = false;
  EvaluatedRecipe best_;
  SimulatedStep last_;  // the best of the last round
};

}  // namespace

absl::StatusOr<EvaluatedRecipe> Evaluate(const TunerInputs& inputs,
                                         StepRecipe recipe) {
  Evaluator evaluator(inputs, std::move(recipe));
  SPILLWAY_RETURN_IF_ERROR(evaluator.Prepare());
  SPILLWAY_RETURN_IF_ERROR(evaluator.EvaluateOnce());
  return std::move(evaluator).Take();
}

absl::StatusOr<EvaluatedRecipe> EvaluateByTime(const TunerInputs& inputs,
                                               StepRecipe recipe, int rounds) {
  IdMap<NodeId, Interval> expected_ns =
      std::exchange(recipe.placement.expected_ns, {});
  Evaluator evaluator(inputs, std::move(recipe));
  SPILLWAY_RETURN_IF_ERROR(evaluator.Prepare());
  if (expected_ns.empty()) {
    SPILLWAY_RETURN_IF_ERROR(evaluator.EvaluateOnce());
    expected_ns = evaluator.TimesOf(evaluator.last(), {});
  }
  for (int round = 0; round < rounds; ++round) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_placed,
                              evaluator.PlaceByTime(expected_ns));
    if (!is_placed) break;
    IdMap<NodeId, Interval> times_ns =
        evaluator.TimesOf(evaluator.last(), expected_ns);
    if (times_ns == expected_ns) break;
    expected_ns = std::move(times_ns);
  }
  if (!evaluator.has_plan()) SPILLWAY_RETURN_IF_ERROR(evaluator.EvaluateOnce());
  return std::move(evaluator).Take();
}

}  // namespace spillway

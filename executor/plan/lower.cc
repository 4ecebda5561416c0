#include "executor/plan/lower.h"

#include <utility>

#include "executor/plan/assign_buffers.h"
#include "graph/feeds.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

StepKind KindOf(const Node& node, const OpDef* def) {
  if (CopiesToHost(node.op)) return StepKind::kSwapOut;
  if (CopiesToDevice(node.op)) return StepKind::kSwapIn;
  return IsPureAlias(def) ? StepKind::kAlias : StepKind::kCompute;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
           const CompileOptions& options)
      : graph_(graph), ops_(ops), schedule_(schedule), options_(options) {}

  UnplacedPlan Run() {
    BufferAssignment assignment =
        AssignBuffers(graph_, ops_, schedule_, options_.residents,
                      options_.constant_prefix, options_.fetches);
    plan().buffers = std::move(assignment.buffers);
    plan().buffer_of = std::move(assignment.buffer_of);
    plan().fetches = options_.fetches;
    plan().resident_bytes = options_.residents.bytes;
    plan().host_resident_bytes = options_.residents.host_bytes;
    IdMap<NodeId, StepId> step_of(graph_.num_nodes());
    for (const NodeId id : schedule_.order) {
      const Node& node = graph_.node(id);
      const OpDef* def = ops_.Find(node.op);
      if (def != nullptr && def->resident) continue;
      if (IsSwapOutOfFeed(graph_, node, options_.fetches)) continue;
      step_of[id] = plan().steps.push_back(MakeStep(node, def));
      result_.dependencies.push_back(Dependencies(node, step_of));
    }
    return std::move(result_);
  }

 private:
  ExecutionPlan& plan() { return result_.plan; }

  Step MakeStep(const Node& node, const OpDef* def) {
    const ValueId feed = FeedOf(graph_, node, options_.fetches);
    const StepKind kind = feed.is_valid() ? StepKind::kFeed : KindOf(node, def);
    Step step{
        .node = node.id, .kind = kind, .lane = LaneOf(node), .feed = feed};
    if (kind != StepKind::kFeed) {
      for (const ValueId input : node.inputs) {
        step.inputs.push_back(plan().buffer_of[input]);
      }
    }
    for (const ValueId output : node.outputs) {
      step.outputs.push_back(plan().buffer_of[output]);
    }
    const int64_t workspace = options_.workspace_bytes.empty()
                                  ? 0
                                  : options_.workspace_bytes[node.id];
    if (workspace > 0) {
      step.workspace =
          plan().buffers.push_back({.name = node.name + " workspace",
                                    .kind = BufferKind::kWorkspace,
                                    .space = OutputSpace(node),
                                    .bytes = workspace});
    }
    return step;
  }

  std::vector<StepId> Dependencies(const Node& node,
                                   const IdMap<NodeId, StepId>& step_of) const {
    std::vector<StepId> steps;
    for (const ValueId input : node.inputs) {
      steps.push_back(step_of[graph_.value(input).producer]);
    }
    for (const NodeId control : node.control_inputs) {
      steps.push_back(step_of[control]);
    }
    std::erase_if(steps, [](StepId id) { return !id.is_valid(); });
    return steps;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const Schedule& schedule_;
  const CompileOptions& options_;
  UnplacedPlan result_;
};

}  // namespace

UnplacedPlan LowerToSteps(const Graph& graph, const OpRegistry& ops,
                          const Schedule& schedule,
                          const CompileOptions& options) {
  return Lowering(graph, ops, schedule, options).Run();
}

}  // namespace spillway

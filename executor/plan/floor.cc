#include "executor/plan/floor.h"

#include <algorithm>
#include <set>

#include "base/units.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/lower.h"

namespace spillway {
namespace {

int64_t WorkingSet(const ExecutionPlan& plan, const Step& step) {
  std::set<BufferId> buffers(step.inputs.begin(), step.inputs.end());
  buffers.insert(step.outputs.begin(), step.outputs.end());
  if (step.workspace.is_valid()) buffers.insert(step.workspace);
  int64_t bytes = plan.resident_bytes;
  for (const BufferId id : buffers) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space != Space::kDevice || IsResident(buffer)) continue;
    bytes += AlignUp(buffer.bytes, kBufferAlignment);
  }
  return bytes;
}

// Whether some edit of the graph could let output `index` of the step overwrite
// one of its inputs.
bool CouldOverwrite(const ExecutionPlan& plan, const Step& step,
                    const OpDef& def, size_t index) {
  const BufferId output = step.outputs[index];
  return std::ranges::any_of(def.in_place, [&](const BufferPair& pair) {
    const auto input = static_cast<size_t>(pair.input);
    if (pair.output != static_cast<int>(index) || input >= step.inputs.size()) {
      return false;
    }
    const Buffer& buffer = plan.buffers[step.inputs[input]];
    return buffer.space == Space::kDevice && !IsResident(buffer) &&
           buffer.bytes == plan.buffers[output].bytes;
  });
}

}  // namespace

int64_t InPlaceBytes(const ExecutionPlan& plan, const Step& step,
                     const Graph& graph, const OpRegistry& ops) {
  const Node& node = graph.node(step.node);
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr || def->in_place.empty()) return 0;
  if (!IsInPlaceLegal(graph, node, *def)) return 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const BufferId output = step.outputs[i];
    if (std::ranges::count(step.inputs, output) > 0) continue;
    if (!CouldOverwrite(plan, step, *def, i)) continue;
    bytes += AlignUp(plan.buffers[output].bytes, kBufferAlignment);
  }
  return bytes;
}

MemoryFloor FindFloor(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const CompileOptions& options) {
  const ExecutionPlan plan = LowerToSteps(graph, ops, schedule, options).plan;
  MemoryFloor floor{.node = {}, .bytes = plan.resident_bytes};
  for (const Step& step : plan.steps) {
    const int64_t bytes =
        WorkingSet(plan, step) - InPlaceBytes(plan, step, graph, ops);
    if (bytes > floor.bytes) floor = {.node = step.node, .bytes = bytes};
  }
  return floor;
}

}  // namespace spillway

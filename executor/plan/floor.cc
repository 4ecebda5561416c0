#include "executor/plan/floor.h"

#include <set>

#include "base/units.h"
#include "executor/plan/in_place_rule.h"
#include "executor/plan/lower.h"
#include "graph/storage.h"

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

// The part of the working set that the edit of the graph could avoid.
int64_t AvoidableBytes(const ExecutionPlan& plan, const Step& step,
                       const InPlaceRule& rule) {
  int64_t bytes = rule.most_bytes;
  for (const BufferPair& pair : rule.pairs) {
    const BufferId output = step.outputs[static_cast<size_t>(pair.output)];
    if (step.inputs[static_cast<size_t>(pair.input)] == output) {
      bytes -= AlignUp(plan.buffers[output].bytes, kBufferAlignment);
    }
  }
  return bytes;
}

}  // namespace

MemoryFloor FindFloor(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const CompileOptions& options) {
  const ExecutionPlan plan = LowerToSteps(graph, ops, schedule, options).plan;
  const StorageMap storages = StorageMap::Of(graph, ops);
  MemoryFloor floor{.node = {}, .bytes = plan.resident_bytes};
  for (const Step& step : plan.steps) {
    const InPlaceRule rule =
        FindInPlaceRule(graph, ops, storages, graph.node(step.node));
    const int64_t bytes =
        WorkingSet(plan, step) - AvoidableBytes(plan, step, rule);
    if (bytes > floor.bytes) floor = {.node = step.node, .bytes = bytes};
  }
  return floor;
}

}  // namespace spillway

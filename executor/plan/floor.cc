#include "executor/plan/floor.h"

#include <set>

#include "base/units.h"
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

}  // namespace

MemoryFloor FindFloor(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const CompileOptions& options) {
  const ExecutionPlan plan = LowerToSteps(graph, ops, schedule, options).plan;
  MemoryFloor floor{.node = {}, .bytes = plan.resident_bytes};
  for (const Step& step : plan.steps) {
    const int64_t bytes = WorkingSet(plan, step);
    if (bytes > floor.bytes) floor = {.node = step.node, .bytes = bytes};
  }
  return floor;
}

}  // namespace spillway

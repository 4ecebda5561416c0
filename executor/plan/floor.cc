#include "executor/plan/floor.h"

#include <algorithm>
#include <set>

#include "base/units.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/lower.h"
#include "executor/plan/match_in_place.h"

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

// Whether some edit of the graph could let the pair's output overwrite its
// input: a transient input of the same size.
bool CouldOverwrite(const ExecutionPlan& plan, const Step& step,
                    const BufferPair& pair) {
  const auto input = static_cast<size_t>(pair.input);
  const auto output = static_cast<size_t>(pair.output);
  if (input >= step.inputs.size() || output >= step.outputs.size()) {
    return false;
  }
  const Buffer& buffer = plan.buffers[step.inputs[input]];
  return buffer.space == Space::kDevice && !IsResident(buffer) &&
         buffer.bytes == plan.buffers[step.outputs[output]].bytes;
}

// Whether the output overwrites an input in this plan.
bool IsInPlace(const Step& step, const OpDef& def, int output) {
  return std::ranges::any_of(def.in_place, [&](const BufferPair& pair) {
    const auto input = static_cast<size_t>(pair.input);
    return pair.output == output && input < step.inputs.size() &&
           step.inputs[input] == step.outputs[static_cast<size_t>(output)];
  });
}

}  // namespace

int64_t InPlaceBytes(const ExecutionPlan& plan, const Step& step,
                     const Graph& graph, const OpRegistry& ops) {
  const Node& node = graph.node(step.node);
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr || def->in_place.empty()) return 0;
  if (!IsInPlaceLegal(graph, node, *def)) return 0;
  std::vector<BufferPair> pairs;
  for (const BufferPair& pair : def->in_place) {
    if (CouldOverwrite(plan, step, pair)) pairs.push_back(pair);
  }
  std::vector<int64_t> bytes;
  for (const BufferId output : step.outputs) {
    bytes.push_back(AlignUp(plan.buffers[output].bytes, kBufferAlignment));
  }
  const std::vector<int> best =
      MatchInPlace(pairs, bytes, def->in_place_together);
  int64_t saved = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (best[i] >= 0) saved += bytes[i];
    if (IsInPlace(step, *def, static_cast<int>(i))) saved -= bytes[i];
  }
  return saved;
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

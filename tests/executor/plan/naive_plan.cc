#include "tests/executor/plan/naive_plan.h"

#include <algorithm>

#include "base/interval.h"
#include "fmt/format.h"

namespace spillway::testing {
namespace {

template <typename Id>
std::string IdText(const std::vector<Id>& ids) {
  std::string text;
  for (const Id id : ids) text += fmt::format(" {}", id.value());
  return text;
}

}  // namespace

StepId StepOf(const ExecutionPlan& plan, NodeId node) {
  for (const StepId id : plan.steps.ids()) {
    if (plan.steps[id].node == node) return id;
  }
  return {};
}

std::vector<BufferId> BuffersOf(const Step& step) {
  std::vector<BufferId> buffers = step.inputs;
  buffers.insert(buffers.end(), step.outputs.begin(), step.outputs.end());
  if (step.workspace.is_valid()) buffers.push_back(step.workspace);
  return buffers;
}

bool Uses(const Step& step, BufferId buffer) {
  return std::ranges::count(BuffersOf(step), buffer) > 0;
}

std::vector<StepId> UsesOf(const ExecutionPlan& plan, BufferId buffer) {
  std::vector<StepId> uses;
  for (const StepId id : plan.steps.ids()) {
    if (Uses(plan.steps[id], buffer)) uses.push_back(id);
  }
  return uses;
}

bool IsFetched(const ExecutionPlan& plan, BufferId buffer) {
  return std::ranges::any_of(plan.fetches, [&](ValueId value) {
    return plan.buffer_of[value] == buffer;
  });
}

bool ShareBytes(const Buffer& a, const Buffer& b) {
  return a.space == b.space && a.bytes > 0 && b.bytes > 0 &&
         Overlap({a.offset, a.offset + a.bytes},
                 {b.offset, b.offset + b.bytes});
}

StepOrder::StepOrder(const ExecutionPlan& plan)
    : before_(plan.steps.size(), std::vector<bool>(plan.steps.size(), false)) {
  for (size_t b = 0; b < plan.steps.size(); ++b) {
    const Step& step = plan.steps[StepId(b)];
    for (size_t a = 0; a < b; ++a) {
      if (plan.steps[StepId(a)].lane != step.lane &&
          std::ranges::count(step.waits, StepId(a)) == 0) {
        continue;
      }
      before_[a][b] = true;
      for (size_t c = 0; c < a; ++c) {
        if (before_[c][a]) before_[c][b] = true;
      }
    }
  }
}

std::vector<StepPair> EdgePairs(const ExecutionPlan& plan, const Graph& graph) {
  std::vector<StepPair> pairs;
  for (const StepId id : plan.steps.ids()) {
    const Node& node = graph.node(plan.steps[id].node);
    std::vector<NodeId> before = node.control_inputs;
    for (const ValueId input : node.inputs) {
      before.push_back(graph.value(input).producer);
    }
    for (const NodeId other : before) {
      const StepId step = StepOf(plan, other);
      if (step.is_valid()) pairs.emplace_back(step, id);
    }
  }
  return pairs;
}

std::vector<StepPair> ReusePairs(const ExecutionPlan& plan) {
  std::vector<StepPair> pairs;
  for (const BufferId a : plan.buffers.ids()) {
    for (const BufferId b : plan.buffers.ids()) {
      if (a == b || !ShareBytes(plan.buffers[a], plan.buffers[b])) continue;
      const std::vector<StepId> uses = UsesOf(plan, a);
      const std::vector<StepId> later = UsesOf(plan, b);
      if (uses.empty() || later.empty() || later.front() < uses.front()) {
        continue;
      }
      for (const StepId use : uses) pairs.emplace_back(use, later.front());
    }
  }
  return pairs;
}

Interval NaiveLife(const ExecutionPlan& plan, BufferId buffer) {
  const std::vector<StepId> uses = UsesOf(plan, buffer);
  if (uses.empty() || IsResident(plan.buffers[buffer])) return {};
  const auto end = static_cast<int64_t>(plan.steps.size());
  return {uses.front().value(),
          IsFetched(plan, buffer) ? end : uses.back().value() + 1};
}

int64_t NaiveLiveBytes(const ExecutionPlan& plan, Space space,
                       const IdMap<BufferId, Interval>& life, int64_t at) {
  int64_t bytes = space == Space::kDevice ? plan.resident_bytes : 0;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space != space || IsResident(buffer)) continue;
    if (life[id].contains(at)) bytes += (buffer.bytes + 255) / 256 * 256;
  }
  return bytes;
}

std::string PlanText(const ExecutionPlan& plan) {
  std::string text = fmt::format(
      "device {} host {} resident {} bounds {} {} fetches{} buffer_of{}\n",
      plan.device_bytes, plan.host_bytes, plan.resident_bytes,
      plan.device_lower_bound_bytes, plan.host_lower_bound_bytes,
      IdText(plan.fetches),
      IdText(
          std::vector<BufferId>(plan.buffer_of.begin(), plan.buffer_of.end())));
  for (const Step& step : plan.steps) {
    const std::string feed =
        step.feed.is_valid() ? fmt::format(" feed {}", step.feed.value()) : "";
    text += fmt::format(
        "node {} kind {} lane {} in{} out{}{} scratch {} waits{}\n",
        step.node.value(), static_cast<int>(step.kind),
        static_cast<int>(step.lane), IdText(step.inputs), IdText(step.outputs),
        feed, step.workspace.value(), IdText(step.waits));
  }
  for (const Buffer& buffer : plan.buffers) {
    text += fmt::format("{} kind {} space {} at {} bytes {} live {} {}\n",
                        buffer.name, static_cast<int>(buffer.kind),
                        static_cast<int>(buffer.space), buffer.offset,
                        buffer.bytes, buffer.live.begin, buffer.live.end);
  }
  return text;
}

}  // namespace spillway::testing

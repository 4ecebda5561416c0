#include "executor/plan/delay_swap_ins.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "executor/plan/lifetimes.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Steps with at least this fraction of the most live bytes count as the peak,
// so that many peaks of about the same height are lowered at once.
constexpr double kNearPeak = 31.0 / 32;

// The order with each delayed swap-in right before the first node that needs
// it: in the reverse order, it comes as soon as all these nodes have come.
class LateOrder {
 public:
  LateOrder(const Graph& graph, const DelayedSchedule& delayed)
      : graph_(graph),
        delayed_(delayed),
        waiting_(graph.num_nodes(), 0),
        has_come_(graph.num_nodes(), false) {}

  std::vector<NodeId> Run() {
    const std::vector<NodeId>& order = delayed_.schedule.order;
    for (const NodeId id : order) {
      ForEachPredecessor(graph_, id,
                         [&](NodeId before) { ++waiting_[before]; });
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!has_come_[*it]) Emit(*it);
    }
    std::ranges::reverse(backwards_);
    return std::move(backwards_);
  }

 private:
  void Emit(NodeId id) {
    backwards_.push_back(id);
    has_come_[id] = true;
    std::vector<NodeId> next;
    ForEachPredecessor(graph_, id, [&](NodeId before) {
      if (--waiting_[before] == 0 && delayed_.is_delayed[before]) {
        next.push_back(before);
      }
    });
    // Nodes that come first in the order come last in reverse.
    std::ranges::sort(next, std::ranges::greater(), [&](NodeId before) {
      return delayed_.schedule.step_of[before];
    });
    for (const NodeId before : next) Emit(before);
  }

  const Graph& graph_;
  const DelayedSchedule& delayed_;
  IdMap<NodeId, int32_t> waiting_;  // edges to nodes that have not come yet
  IdMap<NodeId, bool> has_come_;
  std::vector<NodeId> backwards_;
};

// Device bytes (without residents) that are live at each step.
std::vector<int64_t> LiveBytes(const ExecutionPlan& plan,
                               const Lifetimes& lifetimes) {
  std::vector<int64_t> live(plan.steps.size() + 1, 0);
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    const Interval& life = lifetimes.of[id];
    if (life.empty() || buffer.space != Space::kDevice) continue;
    live[static_cast<size_t>(life.begin)] += buffer.bytes;
    live[static_cast<size_t>(life.end)] -= buffer.bytes;
  }
  for (size_t at = 1; at < live.size(); ++at) live[at] += live[at - 1];
  return live;
}

// For each buffer, the first step that uses it after the step that writes it.
IdMap<BufferId, StepId> FirstReaders(const ExecutionPlan& plan) {
  IdMap<BufferId, StepId> reader(plan.buffers.size());
  for (size_t i = plan.steps.size(); i > 0; --i) {
    for (const BufferId input : plan.steps[StepId(i - 1)].inputs) {
      reader[input] = StepId(i - 1);
    }
  }
  return reader;
}

// Swap-ins that are not delayed yet and whose bytes wait for their reader near
// the peak.
std::vector<NodeId> WaitingAtPeak(const Graph& graph, const ExecutionPlan& plan,
                                  const IdMap<NodeId, bool>& is_delayed) {
  const std::vector<int64_t> live = LiveBytes(plan, FindLifetimes(plan));
  const auto peak = static_cast<double>(std::ranges::max(live));
  std::vector<int64_t> near_peak(live.size() + 1, 0);  // steps before this one
  for (size_t at = 0; at < live.size(); ++at) {
    const bool is_near = static_cast<double>(live[at]) >= kNearPeak * peak;
    near_peak[at + 1] = near_peak[at] + (is_near ? 1 : 0);
  }
  const IdMap<BufferId, StepId> reader = FirstReaders(plan);
  std::vector<NodeId> found;
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[StepId(at)];
    if (!CopiesToDevice(graph.node(step.node).op) || is_delayed[step.node]) {
      continue;
    }
    const StepId next = reader[step.outputs[0]];
    if (!next.is_valid() || next.index() <= at + 1) continue;
    if (near_peak[next.index()] > near_peak[at]) found.push_back(step.node);
  }
  return found;
}

void Reorder(const Graph& graph, DelayedSchedule& delayed) {
  Schedule& schedule = delayed.schedule;
  schedule.order = LateOrder(graph, delayed).Run();
  SetSteps(graph.num_nodes(), schedule);
}

}  // namespace

DelayedSchedule WithoutDelays(const Graph& graph, Schedule schedule) {
  return {.schedule = std::move(schedule),
          .is_delayed = IdMap<NodeId, bool>(graph.num_nodes(), false)};
}

DelayedSchedule WithAllDelayed(const Graph& graph, Schedule schedule) {
  DelayedSchedule delayed = WithoutDelays(graph, std::move(schedule));
  for (const NodeId id : delayed.schedule.order) {
    if (!CopiesToDevice(graph.node(id).op)) continue;
    delayed.is_delayed[id] = true;
    ++delayed.num_delayed;
  }
  Reorder(graph, delayed);
  return delayed;
}

bool DelaySwapInsAtPeak(const Graph& graph, const ExecutionPlan& plan,
                        DelayedSchedule& delayed) {
  const std::vector<NodeId> waiting =
      WaitingAtPeak(graph, plan, delayed.is_delayed);
  if (waiting.empty()) return false;
  for (const NodeId id : waiting) delayed.is_delayed[id] = true;
  delayed.num_delayed += static_cast<int64_t>(waiting.size());
  Reorder(graph, delayed);
  return true;
}

}  // namespace spillway

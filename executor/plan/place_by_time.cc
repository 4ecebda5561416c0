#include "executor/plan/place_by_time.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/memory/timed_packing.h"
#include "executor/plan/delay_swap_ins.h"
#include "executor/plan/place_buffers.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// When each buffer's first user is expected to start and its last user to end.
IdMap<BufferId, Interval> ExpectedUse(
    const ExecutionPlan& plan, const IdMap<NodeId, Interval>& expected_ns) {
  IdMap<BufferId, Interval> use(plan.buffers.size());
  IdMap<BufferId, bool> is_used(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    const Interval& run = expected_ns[step.node];
    const auto add = [&](BufferId buffer) {
      if (!buffer.is_valid()) return;
      if (!is_used[buffer]) use[buffer].begin = run.begin;
      is_used[buffer] = true;
      use[buffer].end = std::max(use[buffer].end, run.end);
    };
    for (const BufferId input : step.inputs) add(input);
    for (const BufferId output : step.outputs) add(output);
    add(step.workspace);
  }
  return use;
}

// Buffers that are in the device arena for a part of the step.
std::vector<BufferId> TransientsOf(const ExecutionPlan& plan,
                                   const Lifetimes& lifetimes) {
  std::vector<BufferId> buffers;
  for (const BufferId id : plan.buffers.ids()) {
    if (plan.buffers[id].space == Space::kDevice && !lifetimes.of[id].empty()) {
      buffers.push_back(id);
    }
  }
  return buffers;
}

std::vector<TimedItem> ItemsOf(const ExecutionPlan& plan,
                               const std::vector<BufferId>& buffers,
                               const Lifetimes& lifetimes,
                               const IdMap<NodeId, Interval>& expected_ns) {
  const IdMap<BufferId, Interval> use = ExpectedUse(plan, expected_ns);
  std::vector<TimedItem> items;
  for (const BufferId id : buffers) {
    items.push_back({.lifetime = lifetimes.of[id],
                     .bytes = plan.buffers[id].bytes,
                     .begin_ns = use[id].begin,
                     .free_ns = use[id].end});
  }
  return items;
}

// Issues each swap-in as soon as no earlier step uses its bytes any more.
class SwapInAdvancer {
 public:
  // `plan`: every swap-in is right before its reader.
  SwapInAdvancer(const Graph& graph, const Schedule& wanted,
                 const Lifetimes& lifetimes, UnplacedPlan& plan)
      : graph_(graph), wanted_(wanted), lifetimes_(lifetimes), plan_(plan) {}

  void Run() {
    const ExecutionPlan& plan = plan_.plan;
    const std::vector<BufferId> buffers = TransientsOf(plan, lifetimes_);
    std::vector<std::vector<StepId>> before(plan.steps.size());
    IdMap<StepId, int64_t> places = WantedPlaces();
    for (const StepId id : plan.steps.ids()) {
      const Step& step = plan.steps[id];
      if (!IsSwapIn(id)) continue;
      int64_t& place = places[id];
      place = std::max(place, FreeFrom(step.outputs[0], buffers));
      for (const StepId other : plan_.dependencies[id]) {
        if (!IsSwapIn(other)) continue;
        place = std::max(place, places[other]);
      }
      place = std::min(place, int64_t{id.value()});
      before[static_cast<size_t>(place)].push_back(id);
    }
    Reorder(before);
  }

 private:
  // Includes feeds that are fed again.
  bool IsSwapIn(StepId id) const {
    return CopiesToDevice(graph_.node(plan_.plan.steps[id].node).op);
  }

  // For each swap-in: the step that follows it in the schedule.
  IdMap<StepId, int64_t> WantedPlaces() const {
    const ExecutionPlan& plan = plan_.plan;
    IdMap<NodeId, StepId> step_of(wanted_.step_of.size());
    for (const StepId step : plan.steps.ids()) {
      step_of[plan.steps[step].node] = step;
    }
    IdMap<StepId, int64_t> places(plan.steps.size(), 0);
    auto next = static_cast<int64_t>(plan.steps.size());
    for (auto it = wanted_.order.rbegin(); it != wanted_.order.rend(); ++it) {
      const StepId step = step_of[*it];
      if (!step.is_valid()) continue;
      if (IsSwapIn(step)) {
        places[step] = next;
      } else {
        next = step.value();
      }
    }
    return places;
  }

  int64_t FreeFrom(BufferId id, const std::vector<BufferId>& buffers) const {
    const Buffer& buffer = plan_.plan.buffers[id];
    const Interval bytes = {buffer.offset, buffer.offset + buffer.bytes};
    int64_t place = 0;
    for (const BufferId other : buffers) {
      const Buffer& o = plan_.plan.buffers[other];
      if (lifetimes_.of[other].end <= lifetimes_.of[id].begin &&
          Overlap(bytes, {o.offset, o.offset + o.bytes})) {
        place = std::max(place, lifetimes_.of[other].end);
      }
    }
    return place;
  }

  // `before`: by step, the swap-ins that are issued right before it.
  void Reorder(const std::vector<std::vector<StepId>>& before) {
    std::vector<StepId> order;
    for (size_t i = 0; i < before.size(); ++i) {
      order.insert(order.end(), before[i].begin(), before[i].end());
      if (!IsSwapIn(StepId(i))) {
        order.emplace_back(i);
      }
    }
    IdMap<StepId, StepId> new_id(order.size());
    for (size_t i = 0; i < order.size(); ++i) new_id[order[i]] = StepId(i);
    IdMap<StepId, Step> steps;
    IdMap<StepId, std::vector<StepId>> dependencies;
    for (const StepId old : order) {
      steps.push_back(std::move(plan_.plan.steps[old]));
      dependencies.push_back(std::move(plan_.dependencies[old]));
    }
    for (std::vector<StepId>& ids : dependencies) {
      for (StepId& id : ids) id = new_id[id];
    }
    plan_.plan.steps = std::move(steps);
    plan_.dependencies = std::move(dependencies);
  }

  const Graph& graph_;
  const Schedule& wanted_;
  const Lifetimes& lifetimes_;
  UnplacedPlan& plan_;
};

}  // namespace

std::vector<TimedPlan> PlaceByTime(const Graph& graph, const OpRegistry& ops,
                                   const Schedule& schedule,
                                   const CompileOptions& options, size_t max) {
  const std::optional<int64_t> budget_bytes = TightestDeviceBudget(options);
  if (!budget_bytes) return {};
  const DelayedSchedule late = WithAllDelayed(graph, schedule);
  const UnplacedPlan unplaced =
      LowerToSteps(graph, ops, late.schedule, options);
  const Lifetimes lifetimes = FindLifetimes(unplaced.plan);
  const std::vector<BufferId> buffers = TransientsOf(unplaced.plan, lifetimes);
  const int64_t base = unplaced.plan.resident_bytes;
  std::vector<TimedPlan> plans;
  for (const TimedPacking& packing :
       PackForTime(ItemsOf(unplaced.plan, buffers, lifetimes,
                           options.placement.expected_ns),
                   kBufferAlignment, *budget_bytes - base, max)) {
    plans.push_back({.plan = unplaced, .lifetimes = lifetimes});
    TimedPlan& result = plans.back();
    ExecutionPlan& plan = result.plan.plan;
    for (size_t i = 0; i < buffers.size(); ++i) {
      plan.buffers[buffers[i]].offset = base + packing.offsets[i];
    }
    plan.device_bytes = base + packing.height_bytes;
    SwapInAdvancer(graph, schedule, lifetimes, result.plan).Run();
    result.lifetimes = FindLifetimes(plan);
    for (const BufferId id : buffers) {
      plan.buffers[id].live = result.lifetimes.of[id];
    }
    plan.device_lower_bound_bytes =
        LiveBytesBound(plan, Space::kDevice, result.lifetimes);
  }
  return plans;
}

}  // namespace spillway

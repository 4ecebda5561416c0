#include "executor/plan/choose_schedule.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "executor/plan/place_buffers.h"
#include "graph/order/memory_order.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Lower bound on the order's device bytes for any packing, then on its host
// bytes.
using Need = std::pair<int64_t, int64_t>;

Need NeedOf(const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
            const CompileOptions& options) {
  const ExecutionPlan plan = LowerToSteps(graph, ops, schedule, options).plan;
  const Lifetimes lifetimes = FindLifetimes(plan);
  return {LiveBytesBound(plan, Space::kDevice, lifetimes),
          LiveBytesBound(plan, Space::kHost, lifetimes)};
}

bool AsksForLess(const Graph& graph, const CompileOptions& options) {
  return options.device_budget_bytes.has_value() ||
         std::ranges::any_of(graph.nodes(), [](const Node& node) {
           return node.op == kSwapOut || IsCloneName(node.name);
         });
}

// Places of the nodes in `schedule`, changed for aliases of swapped-in copies:
// such an alias waits for the copy and delays all later kernels, so it moves
// right before its first reader. Empty if there is no such alias.
IdMap<NodeId, int32_t> WithLateAliases(const Graph& graph,
                                       const OpRegistry& ops,
                                       const Schedule& schedule) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  IdMap<NodeId, int32_t> place = schedule.step_of;
  bool has_any = false;
  // Readers first, since an alias may read an alias.
  for (size_t i = schedule.order.size(); i-- > 0;) {
    const NodeId id = schedule.order[i];
    if (!storages.is_pure_alias(id)) continue;
    const ValueId name = graph.output(id);
    if (!CopiesToDevice(graph.producer(storages.of(name).root).op)) continue;
    has_any = true;
    int32_t first = std::numeric_limits<int32_t>::max();
    ForEachReader(graph, name, [&](NodeId reader) {
      if (schedule.contains(reader)) first = std::min(first, place[reader]);
    });
    place[id] = first;
  }
  return has_any ? place : IdMap<NodeId, int32_t>();
}

}  // namespace

absl::StatusOr<Schedule> ChooseSchedule(const Graph& graph,
                                        const OpRegistry& ops,
                                        const IdMap<NodeId, bool>& keep,
                                        ScheduleKind kind,
                                        const CompileOptions& options) {
  const bool is_auto = kind == ScheduleKind::kAuto;
  if (kind == ScheduleKind::kCreation ||
      (is_auto && !AsksForLess(graph, options))) {
    return MakeSchedule(graph, ops, keep);
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<Schedule> schedules,
                            PossibleSchedules(graph, ops, keep, options));
  size_t chosen = 0;  // creation order
  Need least = NeedOf(graph, ops, schedules[0], options);
  for (size_t i = 1; i < schedules.size(); ++i) {
    const Need need = NeedOf(graph, ops, schedules[i], options);
    if (need >= least) continue;
    least = need;
    chosen = i;
  }
  Schedule best = std::move(schedules[chosen]);
  if (chosen == 0) return best;
  const IdMap<NodeId, int32_t> late = WithLateAliases(graph, ops, best);
  if (late.empty()) return best;
  SPILLWAY_ASSIGN_OR_RETURN(Schedule schedule,
                            MakeSchedule(graph, ops, keep, late));
  const bool is_as_good = NeedOf(graph, ops, schedule, options) <= least;
  return is_as_good ? std::move(schedule) : std::move(best);
}

absl::StatusOr<std::vector<Schedule>> PossibleSchedules(
    const Graph& graph, const OpRegistry& ops, const IdMap<NodeId, bool>& keep,
    const CompileOptions& options) {
  std::vector<Schedule> schedules;
  SPILLWAY_ASSIGN_OR_RETURN(Schedule creation, MakeSchedule(graph, ops, keep));
  const MemoryOrderInputs inputs = {.graph = graph,
                                    .registry = ops,
                                    .schedule = creation,
                                    .fetches = options.fetches};
  std::vector<IdMap<NodeId, int32_t>> preferences;
  for (const auto& order : {ForwardMemoryOrder, BackwardMemoryOrder}) {
    preferences.push_back(order(inputs));
  }
  schedules.push_back(std::move(creation));
  for (const IdMap<NodeId, int32_t>& preference : preferences) {
    SPILLWAY_ASSIGN_OR_RETURN(Schedule schedule,
                              MakeSchedule(graph, ops, keep, preference));
    if (std::ranges::none_of(schedules, [&](const Schedule& other) {
          return other.order == schedule.order;
        })) {
      schedules.push_back(std::move(schedule));
    }
  }
  return schedules;
}

int64_t LeastDeviceBytes(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options) {
  return NeedOf(graph, ops, schedule, options).first;
}

}  // namespace spillway

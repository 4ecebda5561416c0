#include "executor/plan/choose_schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

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
    if (graph.producer(storages.of(name).root).op != kSwapIn) continue;
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
  SPILLWAY_ASSIGN_OR_RETURN(Schedule best, MakeSchedule(graph, ops, keep));
  const bool is_auto = kind == ScheduleKind::kAuto;
  if (kind == ScheduleKind::kCreation ||
      (is_auto && !AsksForLess(graph, options))) {
    return best;
  }
  const Schedule creation = best;
  const MemoryOrderInputs inputs = {.graph = graph,
                                    .registry = ops,
                                    .schedule = creation,
                                    .fetches = options.fetches};
  Need least = NeedOf(graph, ops, best, options);
  for (const auto& order : {ForwardMemoryOrder, BackwardMemoryOrder}) {
    SPILLWAY_ASSIGN_OR_RETURN(Schedule schedule,
                              MakeSchedule(graph, ops, keep, order(inputs)));
    const Need need = NeedOf(graph, ops, schedule, options);
    if (need >= least) continue;
    least = need;
    best = std::move(schedule);
  }
  if (best.order == creation.order) return best;
  const IdMap<NodeId, int32_t> late = WithLateAliases(graph, ops, best);
  if (late.empty()) return best;
  SPILLWAY_ASSIGN_OR_RETURN(Schedule schedule,
                            MakeSchedule(graph, ops, keep, late));
  const bool is_as_good = NeedOf(graph, ops, schedule, options) <= least;
  return is_as_good ? std::move(schedule) : std::move(best);
}

int64_t LeastDeviceBytes(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options) {
  return NeedOf(graph, ops, schedule, options).first;
}

}  // namespace spillway

#include "executor/plan/choose_schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "executor/plan/place_buffers.h"
#include "graph/memory_order.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Device bytes that the order needs however well its buffers are packed, then
// host bytes.
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
           return node.op == kSwapOut;
         });
}

// An alias of a copy from the host waits for it and holds up all kernels behind
// it, so it comes right before its first reader.
void DelayAliasesOfCopies(const Graph& graph, const OpRegistry& ops,
                          const Schedule& schedule,
                          IdMap<NodeId, int32_t>& preference) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  // Readers first: an alias may read an alias.
  for (size_t i = schedule.order.size(); i-- > 0;) {
    const NodeId id = schedule.order[i];
    if (!storages.is_pure_alias(id)) continue;
    const ValueId name = graph.output(id);
    if (graph.producer(storages.of(name).root).op != kSwapIn) continue;
    int32_t first = std::numeric_limits<int32_t>::max();
    ForEachReader(graph, name, [&](NodeId reader) {
      if (schedule.contains(reader)) {
        first = std::min(first, preference[reader]);
      }
    });
    preference[id] = first;
  }
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
    IdMap<NodeId, int32_t> preference = order(inputs);
    DelayAliasesOfCopies(graph, ops, creation, preference);
    SPILLWAY_ASSIGN_OR_RETURN(Schedule schedule,
                              MakeSchedule(graph, ops, keep, preference));
    const Need need = NeedOf(graph, ops, schedule, options);
    if (need >= least) continue;
    least = need;
    best = std::move(schedule);
  }
  return best;
}

int64_t LeastDeviceBytes(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options) {
  return NeedOf(graph, ops, schedule, options).first;
}

}  // namespace spillway

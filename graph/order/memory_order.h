// Orders of the nodes that keep few bytes live at once.
//
// Both are greedy: among the nodes that may run next, they choose the one that
// leaves the fewest live bytes. Neither is the best for every graph (the
// problem is NP-hard even for series-parallel graphs with weights; Kayaaslan et
// al., "Scheduling series-parallel task graphs to minimize peak memory", 2018),
// so a planner tries several and keeps the best. Counts the bytes of values on
// the device, aliases once, residents not at all; workspaces are not known
// here.
// Cost: O(edges + nodes log nodes). Deterministic: ties go to the lowest id.
#ifndef SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_
#define SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_

#include <cstdint>
#include <span>

#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

// `schedule`: any order of the nodes to run. `fetches` stay live to the end.
struct MemoryOrderInputs {
  const Graph& graph;
  const OpRegistry& registry;
  const Schedule& schedule;
  std::span<const ValueId> fetches;
};

// Preferences for MakeSchedule: each scheduled node's place in an order that is
// built from the first node forwards; the node that frees most bytes comes
// first.
IdMap<NodeId, int32_t> ForwardMemoryOrder(const MemoryOrderInputs& inputs);

// As above, but built from the last node backwards: a node comes as late as
// possible, unless its inputs would stay live longer for it.
IdMap<NodeId, int32_t> BackwardMemoryOrder(const MemoryOrderInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_

// Orders of the nodes that keep few bytes alive at once.
//
// Both are greedy: of the nodes that may run next, the one that leaves the
// least bytes alive. Neither is the best for every graph (the problem is
// NP-hard already for series-parallel graphs with weights; Kayaaslan et al.,
// "Scheduling series-parallel task graphs to minimize peak memory", 2018), so a
// planner tries several and keeps the best. Bytes are those of values on the
// device, aliases once, residents not at all; workspaces are not known here.
// Cost: O(edges + nodes log nodes). Deterministic: ties go to the lowest id.
#ifndef SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_
#define SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_

#include <cstdint>
#include <span>

#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

// What the orders are made of. `schedule`: any order of the nodes to run;
// `fetches` never die.
struct MemoryOrderInputs {
  const Graph& graph;
  const OpRegistry& registry;
  const Schedule& schedule;
  std::span<const ValueId> fetches;
};

// Preferences for MakeSchedule: each scheduled node's place in an order that
// was built from the first node on, running first what frees most.
IdMap<NodeId, int32_t> ForwardMemoryOrder(const MemoryOrderInputs& inputs);

// As above, built from the last node back: nothing is computed before it has
// to be, unless its inputs would stay alive longer for it.
IdMap<NodeId, int32_t> BackwardMemoryOrder(const MemoryOrderInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_MEMORY_ORDER_H_

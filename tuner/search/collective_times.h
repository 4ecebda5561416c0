// When the collectives of a step could run.
#ifndef SPILLWAY_TUNER_SEARCH_COLLECTIVE_TIMES_H_
#define SPILLWAY_TUNER_SEARCH_COLLECTIVE_TIMES_H_

#include <cstdint>

#include "base/ids.h"
#include "base/interval.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"

namespace spillway {

// Nanoseconds by node, if bytes were always free:
//
//   kernels       | g1 | g2 | g3 | g4 |
//   collectives             | sum of g1, g2 | sum of g3, g4 |
//
// In creation order, collectives come last, and a placement by the order alone
// gives their scratch bytes that are free only then: the first one would wait
// for g4. One by these times (PlacementOptions::expected_ns) lets it begin
// early. Empty: the graph has no collectives. Cost: O(nodes + edges).
IdMap<NodeId, Interval> CollectiveTimes(
    const Graph& graph, const Schedule& schedule,
    const IdMap<NodeId, int64_t>& kernel_ns);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_COLLECTIVE_TIMES_H_

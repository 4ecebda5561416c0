// The predicted time of the nodes that ranks compute together
// (IsCollective, graph/well_known_ops.h).
#ifndef SPILLWAY_SIMULATOR_NETWORK_COLLECTIVE_COST_H_
#define SPILLWAY_SIMULATOR_NETWORK_COLLECTIVE_COST_H_

#include <cstdint>

#include "graph/graph.h"
#include "simulator/network/network_model.h"

namespace spillway {

// What a rank gives to the collective: the elements of all outputs in the
// node's wire type; of a sparse all-reduce, a pair of 8 bytes for each element
// that is sent. An element is counted as sent where only its magnitude decides
// (min_magnitude).
int64_t WireBytes(const Graph& graph, const Node& node);

// Nanoseconds on the network, from all ranks' inputs to all ranks' outputs;
// packing and unpacking are not in it. Of nodes that reduce in turn: the mean
// over the turns.
double CollectiveNs(const NetworkModel& network, const Graph& graph,
                    const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_NETWORK_COLLECTIVE_COST_H_

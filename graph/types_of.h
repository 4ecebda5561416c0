// The types of a list of values, as op definitions and kernels take them.
#ifndef SPILLWAY_GRAPH_TYPES_OF_H_
#define SPILLWAY_GRAPH_TYPES_OF_H_

#include <span>
#include <vector>

#include "graph/graph.h"

namespace spillway {

// In the order of `values`.
std::vector<TensorType> TypesOf(const Graph& graph,
                                std::span<const ValueId> values);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_TYPES_OF_H_

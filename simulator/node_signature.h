// The text shared by all nodes that do equal work.
#ifndef SPILLWAY_SIMULATOR_NODE_SIGNATURE_H_
#define SPILLWAY_SIMULATOR_NODE_SIGNATURE_H_

#include <string>

#include "graph/graph.h"

namespace spillway {

// Op, attributes in name order, and the types of inputs and outputs; no names:
//
//   MatMul{transpose_b=true}(float32[64, 400], float32[10, 400])
//       -> float32[64, 10]                                    (on one line)
//
// Attributes that change numbers but not the amount of work are left out: real
// numbers (rates, epsilons), seeds, and the initial values of variables.
std::string NodeSignature(const Graph& graph, const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_NODE_SIGNATURE_H_

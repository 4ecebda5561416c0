// For edits that add nodes: their names, and the nodes that read them instead
// of the original.
#ifndef SPILLWAY_LMS_ADDED_NODES_H_
#define SPILLWAY_LMS_ADDED_NODES_H_

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace spillway {

// A name that the graph does not have yet, in one scope with all added nodes:
// "lms/swapout_" and "conv1/Relu:0" give "lms/swapout_conv1_Relu_0".
std::string AddedName(std::string_view prefix, std::string name,
                      const Graph& graph);

// All slots of `readers` that read `from` read `to` afterwards.
void Reroute(const std::vector<NodeId>& readers, ValueId from, ValueId to,
             Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_ADDED_NODES_H_

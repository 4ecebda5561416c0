// Graphviz text of a graph: swap nodes, swapped tensors and clones coloured,
// control edges dashed.
#ifndef SPILLWAY_GRAPH_FORMAT_DOT_H_
#define SPILLWAY_GRAPH_FORMAT_DOT_H_

#include <string>

#include "graph/graph.h"

namespace spillway {

std::string FormatDot(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_FORMAT_DOT_H_

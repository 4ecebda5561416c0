// Graphs as short text, for golden tests.
#ifndef SPILLWAY_TESTS_SUPPORT_GRAPH_TEXT_H_
#define SPILLWAY_TESTS_SUPPORT_GRAPH_TEXT_H_

#include <set>
#include <string>

#include "graph/graph.h"

namespace spillway::testing {

// One line per node, in order: "name = Op(input, input:1) ^control_input", with
// the attribute `activation` if present. `ops`: include only nodes of these
// ops; empty: all.
std::string GraphText(const Graph& graph,
                      const std::set<std::string>& ops = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_GRAPH_TEXT_H_

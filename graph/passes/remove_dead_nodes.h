// Dead-node removal: removes nodes on which neither a kept value nor a node
// that overwrites a variable depends, over data and control edges (see
// NodesToRun).
#ifndef SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_
#define SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_

#include "graph/passes/pass.h"

namespace spillway {

void RemoveDeadNodes(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_

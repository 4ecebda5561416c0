// Dead-node removal: what neither a kept value nor any node that overwrites a
// variable depends on, over data and control edges (see NodesToRun), goes.
#ifndef SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_
#define SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_

#include "graph/passes/pass.h"

namespace spillway {

void RemoveDeadNodes(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_REMOVE_DEAD_NODES_H_

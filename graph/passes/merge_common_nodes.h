// Common-subexpression elimination: of nodes that compute the same value from
// the same inputs, the first is kept, and readers of the others read it
// instead.
//
// Left alone: nodes without a schema, nodes that overwrite variables, variables
// and feeds, host nodes, clones (well_known_ops.h), and readers of a variable
// that may run after one of its updates.
#ifndef SPILLWAY_GRAPH_PASSES_MERGE_COMMON_NODES_H_
#define SPILLWAY_GRAPH_PASSES_MERGE_COMMON_NODES_H_

#include "graph/passes/pass.h"

namespace spillway {

void MergeCommonNodes(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_MERGE_COMMON_NODES_H_

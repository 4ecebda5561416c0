// Updates of small variables by the same rule -> one update of them all, which
// a GPU runs as one kernel:
//
//   w1, g1, rate -> Apply -> w1'
//   w2, g2, rate -> Apply -> w2'    =>   w1, g1, w2, g2, rate -> Apply -> w1',
//   w2'
//
// Merged are nodes of an op with groups (OpDef::group_inputs) whose attributes,
// shared inputs, dtypes and placement are equal, in order of creation. The
// merged node has the name of the first, stands where the last of them stood
// and waits for whatever one of them waited for.
//
// A gradient now lives until the last one of its node is there. So a variable
// has at most kMostFusedVariableBytes, and the gradients of a node have at most
// kMostFusedGradientBytes together: what the pass may add to the peak.
//
// Left alone: an update that runs after another one of these, which would close
// a cycle, and nodes with a stated cost.
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_UPDATES_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_UPDATES_H_

#include <cstdint>

#include "graph/passes/pass.h"

namespace spillway {

inline constexpr int64_t kMostFusedVariableBytes = int64_t{64} << 10;
inline constexpr int64_t kMostFusedGradientBytes = int64_t{1} << 20;

void FuseUpdates(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_UPDATES_H_

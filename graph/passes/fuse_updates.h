// Updates of small variables by the same rule -> one update of all of them,
// which a GPU runs as one kernel:
//
//   w1, g1, rate -> Apply -> w1'
//   w2, g2, rate -> Apply -> w2'
//                                =>
//   w1, g1, w2, g2, rate -> Apply -> w1', w2'
//
// Merges nodes of an op with groups (OpDef::group_inputs) whose attributes,
// shared inputs, dtypes and placement are equal, in order of creation. The
// merged node has the name of the first node, takes the place of the last one,
// and inherits the control edges of all.
//
// A gradient now stays live until the last gradient of its merged node has been
// computed. To bound the bytes that the pass may add to the peak, a variable
// has at most kMostFusedVariableBytes, and the gradients of a node have at most
// kMostFusedGradientBytes together.
//
// Left alone: an update that runs after another one of these updates, since
// merging them would close a cycle, and nodes with a stated cost.
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

// The gradient of a value that is read in slices is the sum of one padded
// tensor for each. Where the slices cover it without overlap, the sum is a
// concatenation, which moves each byte once.
#ifndef SPILLWAY_GRAPH_PASSES_JOIN_SLICES_H_
#define SPILLWAY_GRAPH_PASSES_JOIN_SLICES_H_

#include "graph/passes/pass.h"

namespace spillway {

// AddN of Pad nodes that no one else reads, along one axis, becomes Concat.
// The same numbers (a sum of zeros is +0, where the parts may have -0).
void JoinSlices(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_JOIN_SLICES_H_

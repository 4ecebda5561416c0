// Nodes read parts of wider tensors where they lie (graph/parts.h):
//
//  - Readers of a Slice of channels read the tensor that it is a slice of. The
//    gradient of a concatenation is not cut to pieces.
//  - Readers of a tensor that a Concat has joined with others read it inside
//    the result, if they run after the Concat. So the tensor's own bytes are
//    free as soon as it is joined: a network like DenseNet keeps each of its
//    channels once, not in every concatenation that they are in.
#ifndef SPILLWAY_GRAPH_PASSES_READ_PARTS_H_
#define SPILLWAY_GRAPH_PASSES_READ_PARTS_H_

#include "graph/passes/pass.h"

namespace spillway {

// A Slice goes if all its readers can read parts. A tensor is read inside a
// concatenation if all its later readers can, and if those tensors make up at
// least half of it: it may then live longer.
void ReadParts(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_READ_PARTS_H_

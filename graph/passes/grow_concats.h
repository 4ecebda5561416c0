// A concatenation that is the first part of another, which is the first part of
// a third, and so on, as in DenseNet, grows in place: the first one makes a
// tensor with room for the channels of all, and each of the others adds its new
// channels to it.
#ifndef SPILLWAY_GRAPH_PASSES_GROW_CONCATS_H_
#define SPILLWAY_GRAPH_PASSES_GROW_CONCATS_H_

#include "graph/passes/pass.h"

namespace spillway {

// Concat nodes of channels become Concat with `room`, and ConcatInto. What else
// reads them, except the last, must be able to read parts (graph/parts.h) and
// run before the next: so its bytes are free for the next one. (ReadParts moves
// later readers to the last.)
void GrowConcats(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_GROW_CONCATS_H_

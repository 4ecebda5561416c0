// Gradients that read a little that the forward phase saves, instead of a whole
// tensor:
//
//   FusedBatchNorm with a side and an activation: a bit for each element of y,
//     whether its gradient passes. FusedBatchNormGrad reads it instead of y.
//   MaxPool: a byte for each window, the place of its maximum. MaxPoolGrad
//   reads
//     it instead of x. Only if all places fit into a byte, and all together
//     take at most an eighth of the bytes of x.
//
// Often nothing else in the backward phase reads the tensor, which is then free
// much earlier; and where memory is narrowest, at the gradient itself, one
// large tensor less is needed. All results are bitwise the same. (A window with
// a NaN excepted: MaxPool then finds another element.)
#ifndef SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_
#define SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_

#include "graph/passes/pass.h"

namespace spillway {

void SaveMasks(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_

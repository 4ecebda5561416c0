// Gradients that read a little that the forward phase saves, instead of a whole
// tensor:
//
// - FusedBatchNorm with a side and an activation saves a bit for each element
//   of y: whether its gradient passes. FusedBatchNormGrad reads it instead of
//   y. Only for a multiple of 8 channels.
// - MaxPool saves a byte for each window: the place of its maximum. MaxPoolGrad
//   reads it instead of x. Only if a byte can name all places, and the bytes
//   are at most an eighth of those of x.
//
// Often nothing else in the backward phase reads the tensor, which is then free
// much earlier; and where memory is narrowest, at the gradient itself, one
// large tensor less is needed. All results are bitwise the same, except where a
// window has a NaN.
#ifndef SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_
#define SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_

#include "graph/passes/pass.h"

namespace spillway {

void SaveMasks(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_SAVE_MASKS_H_

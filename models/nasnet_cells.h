// The two kinds of cell that the networks of NASNet-A stack.
//
// A cell reads `current`, the output of the previous cell, and `previous`, the
// output of an earlier cell. It adds pairs of convolved, pooled or unchanged
// maps and concatenates the sums. The result is after ReLU, since every reader
// needs that. A map that several pairs read is computed once.
//
// Source: Zoph et al., "Learning transferable architectures for scalable image
// recognition", CVPR 2018, figure 4; layers in detail as in the authors' code
// (tensorflow/models, slim/nets/nasnet).
#ifndef SPILLWAY_MODELS_NASNET_CELLS_H_
#define SPILLWAY_MODELS_NASNET_CELLS_H_

#include <cstdint>

#include "graph/builder/builder.h"
#include "models/layers/layers.h"

namespace spillway {

struct NasNetCell {
  NameScope scope;
  int64_t filters = 0;  // channels of every map in the cell
  // For every convolution, without activation and side.
  BatchNormOptions norm = {};
};

// `previous`, which is after ReLU, with the cell's number of channels and the
// height and width of `current`: halved if they differ, using every pixel.
Tensor FitPrevious(const NasNetCell& cell, Tensor previous, Tensor current,
                   Activation activation);

// Maps of equal height and width.
struct NasNetInputs {
  Tensor current = {};        // after ReLU
  Tensor previous = {};       // before ReLU; only a normal cell reads it
  Tensor previous_relu = {};  // after ReLU
};

// Result: the inputs' height and width, 6 * filters channels.
Tensor NormalCell(const NasNetCell& cell, const NasNetInputs& inputs);

// Result: half the height and width, rounded up, 4 * filters channels.
Tensor ReductionCell(const NasNetCell& cell, const NasNetInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_NASNET_CELLS_H_

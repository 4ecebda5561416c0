// The two cells of NASNet-A, of which its networks are stacks.
//
// A cell reads the map of the cell before it, `current`, and that of a cell
// before that one, `previous`; it adds pairs of convolved, pooled or plain maps
// and returns the sums side by side, after ReLU, because that is how every
// reader wants them. Maps that several pairs read are made once.
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
  int64_t filters = 0;  // of every map in the cell
  // Of every convolution, without activation and side.
  BatchNormOptions norm = {};
};

// `previous`, which is after ReLU, with the channels of the cell and the height
// and width of `current`: halved, if they differ, with every pixel used.
Tensor FitPrevious(const NasNetCell& cell, Tensor previous, Tensor current,
                   Activation activation);

// Maps of one height and width.
struct NasNetInputs {
  Tensor current = {};        // after ReLU
  Tensor previous = {};       // before ReLU; only a normal cell reads it
  Tensor previous_relu = {};  // after ReLU
};

// Result: as large as the inputs, with 6 * filters channels.
Tensor NormalCell(const NasNetCell& cell, const NasNetInputs& inputs);

// Result: half as large, rounded up, with 4 * filters channels.
Tensor ReductionCell(const NasNetCell& cell, const NasNetInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_NASNET_CELLS_H_

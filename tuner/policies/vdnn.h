// vDNN's policies: the inputs of layers are on the host until the backward
// phase. Source: Rhu et al., "vDNN: Virtualized Deep Neural Networks for
// Scalable, Memory-Efficient Neural Network Design" (MICRO 2016, arXiv
// 1602.08124, section III): vDNN-all moves the inputs of all layers, vDNN-conv
// those of the convolutions.
//
// An input of a layer is a tensor that a kernel of the forward phase reads; it
// leaves after its last reader there (saved_gaps.h says what is saved).
//
// Approximated: vDNN fetches a tensor while the kernel of the layer before its
// reader runs, and waits for each copy at the end of the layer. Fates cannot
// say when a copy runs: here it runs as soon as it avoids a stall and memory
// allows, which is never slower. vDNN's choice of convolution algorithms is
// left out, since all policies run the same kernels.
#ifndef SPILLWAY_TUNER_POLICIES_VDNN_H_
#define SPILLWAY_TUNER_POLICIES_VDNN_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// These fates do not depend on the budget and always exist.
std::optional<Fates> VdnnAllFates(const RecomputeSpace& space,
                                  int64_t budget_bytes);
// Convolutions are the ops Conv1D, Conv2D, Conv3D and their transposes.
std::optional<Fates> VdnnConvFates(const RecomputeSpace& space,
                                   int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_VDNN_H_

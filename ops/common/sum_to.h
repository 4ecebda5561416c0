// The gradient for a tensor that was broadcast in the forward pass.
#ifndef SPILLWAY_OPS_COMMON_SUM_TO_H_
#define SPILLWAY_OPS_COMMON_SUM_TO_H_

#include "graph/builder/gradient.h"
#include "graph/tensor_type.h"

namespace spillway {

// Sums `dy` over the dimensions in which a tensor of `type` was repeated
// (ops/common/broadcast_dims.h). Adds BiasAddGrad, or Sum and Reshape, or no
// node.
Tensor SumTo(const TensorType& type, Tensor dy, GradientContext& grad);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_SUM_TO_H_

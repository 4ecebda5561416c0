// The gradient for a tensor that was broadcast in the forward pass.
#ifndef SPILLWAY_OPS_COMMON_SUM_TO_H_
#define SPILLWAY_OPS_COMMON_SUM_TO_H_

#include "graph/builder/gradient.h"
#include "graph/tensor_type.h"

namespace spillway {

// Sums `dy` over the dimensions that broadcasting a tensor of `type` added.
// `type` is dy's own type, a scalar, or a vector of its last dimension. Adds
// Sum, BiasAddGrad or no node.
Tensor SumTo(const TensorType& type, Tensor dy, GradientContext& grad);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_SUM_TO_H_

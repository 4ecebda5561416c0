// The gradient of a tensor that was broadcast in the forward pass.
#ifndef SPILLWAY_OPS_COMMON_SUM_TO_H_
#define SPILLWAY_OPS_COMMON_SUM_TO_H_

#include "graph/builder/gradient.h"
#include "graph/tensor_type.h"

namespace spillway {

// `dy` summed over the dimensions that broadcasting a tensor of `type` added to
// it: `type` is dy's own, a scalar, or a vector of its last dimension. Adds
// Sum, BiasAddGrad or nothing.
Tensor SumTo(const TensorType& type, Tensor dy, GradientContext& grad);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_SUM_TO_H_

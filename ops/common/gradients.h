// Pieces of gradient functions.
#ifndef SPILLWAY_OPS_COMMON_GRADIENTS_H_
#define SPILLWAY_OPS_COMMON_GRADIENTS_H_

#include "graph/builder/gradient.h"

namespace spillway {

// A constant scalar of the dtype of `like`.
Tensor Number(double value, Tensor like, GradientContext& grad);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_GRADIENTS_H_

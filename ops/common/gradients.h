// Pieces of gradient functions.
#ifndef SPILLWAY_OPS_COMMON_GRADIENTS_H_
#define SPILLWAY_OPS_COMMON_GRADIENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/builder/gradient.h"

namespace spillway {

// A constant scalar of the dtype of `like`.
Tensor Number(double value, Tensor like, GradientContext& grad);

// For an op whose slope is 0 wherever it has one: none for any input.
absl::StatusOr<std::vector<Tensor>> NoGradients(GradientContext& grad);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_GRADIENTS_H_

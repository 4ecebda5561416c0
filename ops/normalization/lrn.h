// Local response normalisation across channels, and its gradient.
//
//   y[c] = x[c] * s[c]^-beta
//   s[c] = bias + alpha * sum of x[j]^2 over |j - c| <= depth_radius
//
// x: any shape with channels last, floating; y: as x. Attributes as in
// TensorFlow, where alpha is not divided by the window: `depth_radius` (5),
// `bias` (1), `alpha` (1), `beta` (0.5). s must stay positive.
//
//   LRN      x      y
//   LRNGrad  dy, x  dx
//
// Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep
// convolutional neural networks", NIPS 2012, section 3.3.
#ifndef SPILLWAY_OPS_NORMALIZATION_LRN_H_
#define SPILLWAY_OPS_NORMALIZATION_LRN_H_

#include <cstdint>

#include "ops/op.h"

namespace spillway::ops {

struct LrnAttributes {
  int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
};

// Errors: INVALID_ARGUMENT.
absl::StatusOr<LrnAttributes> ReadLrn(const Attributes& attributes);

Op LRN();
Op LRNGrad();

NewKernel LrnCpu(const KernelRequest& node);
NewKernel LrnGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_NORMALIZATION_LRN_H_

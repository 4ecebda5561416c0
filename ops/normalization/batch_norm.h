// Batch normalisation with an activation, and its gradient.
//
//   y = activation((x - mean) * inv_std * scale + offset [+ side])
//   inv_std = 1 / sqrt(variance + epsilon)
//
// x, side, y, dy: any shape with channels last, floating. The others: float32
// [C]. Attributes: `epsilon` (0.001), `momentum` (0.99), `is_training` (true),
// `activation` "none" (default), "relu" or "relu6".
//
//   FusedBatchNorm      x, scale, offset, moving_mean, moving_variance[, side]
//                       -> y, saved_mean, saved_inv_std[, mask]
//   FusedBatchNormGrad  dy, x, scale, offset, saved_mean, saved_inv_std
//                       [, y_or_mask] -> dx, dscale, doffset[, dside]
//
//   BatchNormApply      x, scale, offset, saved_mean, saved_inv_std[, side] ->
//   y
//
// BatchNormApply has only the attribute `activation`. It computes the y of a
// FusedBatchNorm again, bitwise identical, from the statistics that this node
// saved (recomputation). It has no gradient.
//
// In training, mean and variance are the batch's (the variance over n), and the
// moving statistics are overwritten: new = momentum * old + (1 - momentum) *
// batch, with the batch's variance over n - 1. Otherwise they are the moving
// statistics, which are unchanged. saved_mean and saved_inv_std are the values
// that were used, in both cases.
//
// The gradient of the activation is taken from x, so y need not be kept. Only
// with `side` it is taken from y, and then the gradient of side is an output
// (without an activation, that gradient is dy itself). With the attribute
// `mask` (false), a forward node with a side and an activation saves, and its
// gradient reads instead of y, a bit for each element: whether its gradient
// passes. `mask` is uint8, of the shape of x but for the last dimension, C / 8;
// bit i % 8 of byte i / 8 is that of element i. C must be a multiple of 8.
// Source: Ioffe and Szegedy, "Batch normalization", ICML 2015.
#ifndef SPILLWAY_OPS_NORMALIZATION_BATCH_NORM_H_
#define SPILLWAY_OPS_NORMALIZATION_BATCH_NORM_H_

#include "ops/common/fused_activation.h"
#include "ops/op.h"

namespace spillway::ops {

struct BatchNormAttributes {
  double epsilon = 0.001;
  double momentum = 0.99;
  bool is_training = true;
  FusedActivation activation = FusedActivation::kNone;
  bool mask = false;
};

// Errors: INVALID_ARGUMENT.
absl::StatusOr<BatchNormAttributes> ReadBatchNorm(const Attributes& attributes);

Op BatchNormApply();
Op FusedBatchNorm();
Op FusedBatchNormGrad();

NewKernel BatchNormApplyCpu(const KernelRequest& node);
NewKernel FusedBatchNormCpu(const KernelRequest& node);
NewKernel FusedBatchNormGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_NORMALIZATION_BATCH_NORM_H_

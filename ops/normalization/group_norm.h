// Layer and group normalisation, and their gradients.
//
//   y = (x - mean) * inv_std * scale + offset
//   inv_std = 1 / sqrt(variance + epsilon)
//
// Mean and variance (over n, not n - 1) are those of a group of x's elements:
//
//   LayerNorm  all that have the same leading dimensions: x [r.., d..], scale
//              and offset [d..], saved_mean and saved_inv_std [r..]
//   GroupNorm  the spatial dimensions and `groups` equal shares of the channels
//              of each sample: x [N, s.., C], scale and offset [C], saved_mean
//              and saved_inv_std [N, groups]; as many groups as channels is
//              instance normalisation
//
// x and y are floating, the others float32. Attributes: `epsilon` (1e-5),
// and of GroupNorm `groups` (1), which divides C.
//
//   LayerNorm      x, scale, offset -> y, saved_mean, saved_inv_std
//   LayerNormGrad  dy, x, scale, saved_mean, saved_inv_std
//                  -> dx, dscale, doffset
//   GroupNorm, GroupNormGrad: the same
//
// The statistics have no gradient. Source: Ba, Kiros, Hinton, "Layer
// normalization", 2016; Wu and He, "Group normalization", ECCV 2018.
#ifndef SPILLWAY_OPS_NORMALIZATION_GROUP_NORM_H_
#define SPILLWAY_OPS_NORMALIZATION_GROUP_NORM_H_

#include <cstdint>

#include "ops/op.h"

namespace spillway::ops {

// x of either op as [samples, rows, groups, width]: a group has all elements
// with one sample and one group. LayerNorm: the samples are its leading
// dimensions, rows and groups 1.
struct NormGroups {
  int64_t samples = 1;
  int64_t rows = 1;
  int64_t groups = 1;
  int64_t width = 1;  // channels of a group
  double epsilon = 1e-5;

  int64_t channels() const { return groups * width; }
};

// Errors: INVALID_ARGUMENT if x and scale do not fit each other.
absl::StatusOr<NormGroups> ReadLayerNorm(const Attributes& attributes,
                                         const TensorType& x,
                                         const TensorType& scale);
absl::StatusOr<NormGroups> ReadGroupNorm(const Attributes& attributes,
                                         const TensorType& x,
                                         const TensorType& scale);

Op GroupNorm();
Op GroupNormGrad();
Op LayerNorm();
Op LayerNormGrad();

NewKernel GroupNormCpu(const KernelRequest& node);
NewKernel GroupNormGradCpu(const KernelRequest& node);
NewKernel LayerNormCpu(const KernelRequest& node);
NewKernel LayerNormGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_NORMALIZATION_GROUP_NORM_H_

// Pooling: each output element is the maximum or the mean of a window, channel
// by channel.
#ifndef SPILLWAY_OPS_REDUCTION_POOL_H_
#define SPILLWAY_OPS_REDUCTION_POOL_H_

#include "ops/op.h"

namespace spillway::ops {

// MaxPool, MaxPool3D and their gradients.
//
// x [N, spatial..., C] floating, y [N, output spatial..., C]: the largest
// element of each window, channel by channel. Attributes: `ksize`, one size for
// each spatial dimension, and `strides`, `padding`, `explicit_paddings` as in
// ops/common/window.h. Padding is never the largest. A NaN counts as small
// unless it comes first.
//
//   MaxPool, MaxPool3D          x                y[, places]
//   MaxPoolGrad, MaxPool3DGrad  x_or_places, dy  dx
//
// The gradient of a window goes to its largest element; ties go to the first in
// row-major order (as in TensorFlow's CPU kernel). That element is found again
// from x; if windows do not overlap, dx may overwrite x.
//
// With the attribute `places` (false), the pool saves where that element is,
// and the gradient reads this instead of x; it then has the attribute
// `input_shape`. `places` is uint8, of the shape of y: the index of the element
// in the window, row-major, padding counted. A window then has at most 256
// elements.
Op MaxPool();
Op MaxPool3D();
Op MaxPool3DGrad();
Op MaxPoolGrad();

// For both numbers of dimensions.
NewKernel MaxPoolCpu(const KernelRequest& node);
NewKernel MaxPoolGradCpu(const KernelRequest& node);

// AvgPool, AvgPool3D and their gradients.
//
// x [N, spatial..., C] floating, y [N, output spatial..., C]: the mean of each
// window, channel by channel. Attributes: `ksize`, one size for each spatial
// dimension, `strides`, `padding`, `explicit_paddings` as in
// ops/common/window.h, and `count_include_pad` (default false: the mean is over
// the elements that are not padding).
//
//   AvgPool, AvgPool3D          x   y
//   AvgPoolGrad, AvgPool3DGrad  dy  dx  with input_shape
Op AvgPool();
Op AvgPool3D();
Op AvgPool3DGrad();
Op AvgPoolGrad();

// For both numbers of dimensions.
NewKernel AvgPoolCpu(const KernelRequest& node);
NewKernel AvgPoolGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_REDUCTION_POOL_H_

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
#ifndef SPILLWAY_OPS_AVG_POOL_H_
#define SPILLWAY_OPS_AVG_POOL_H_

#include "ops/op.h"

namespace spillway::ops {

Op AvgPool();
Op AvgPool3D();
Op AvgPool3DGrad();
Op AvgPoolGrad();

// Of either number of dimensions.
NewKernel AvgPoolCpu(const KernelRequest& node);
NewKernel AvgPoolGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_AVG_POOL_H_

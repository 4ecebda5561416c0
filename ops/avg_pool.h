// AvgPool and its gradient.
//
// x [N, H, W, C] floating, y [N, OH, OW, C]: the mean of each window, channel
// by channel. Attributes: `ksize` [rows, columns], `strides`, `padding`,
// `explicit_paddings` as in ops/common/window.h, and `count_include_pad`
// (default false: the mean is over the elements that are not padding).
//
//   AvgPool      x   y
//   AvgPoolGrad  dy  dx  with input_shape
#ifndef SPILLWAY_OPS_AVG_POOL_H_
#define SPILLWAY_OPS_AVG_POOL_H_

#include "ops/op.h"

namespace spillway::ops {

Op AvgPool();
Op AvgPoolGrad();

NewKernel AvgPoolCpu(const KernelRequest& node);
NewKernel AvgPoolGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_AVG_POOL_H_

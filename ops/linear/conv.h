// Conv2D, Conv3D and their gradients: shapes, groups and dtypes as in
// ops/common/conv.h.
//
//   ConvXD                x, filter     y
//   ConvXDBackpropInput   filter, dy, [addend]  dx  with input_shape
//   ConvXDBackpropFilter  x, dy         dfilter  with filter_shape
//
// The addend, a tensor like dx, is added to dx before the sum is rounded to
// dx's dtype; dx may overwrite it. Only for matrix products (IsPointwise).
//
// dfilter has the dtype of the attribute `dtype`: that of dy (the default), or
// float32, as a float32 filter needs it; the sums are float32 in either case.
#ifndef SPILLWAY_OPS_LINEAR_CONV_H_
#define SPILLWAY_OPS_LINEAR_CONV_H_

#include "ops/op.h"

namespace spillway::ops {

// The input of ConvXDBackpropInput that is the addend, if there is one.
inline constexpr int kConvAddend = 2;

Op Conv2D();
Op Conv2DBackpropFilter();
Op Conv2DBackpropInput();
Op Conv3D();
Op Conv3DBackpropFilter();
Op Conv3DBackpropInput();

// For both numbers of dimensions.
NewKernel ConvCpu(const KernelRequest& node);
NewKernel ConvBackpropFilterCpu(const KernelRequest& node);
NewKernel ConvBackpropInputCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LINEAR_CONV_H_

// Conv2D and its gradients.
//
// x [N, H, W, I], filter [O, KH, KW, I / groups], y [N, OH, OW, O], of one
// floating dtype. Channels are cut into `groups` (default 1), each of which
// sees only its own; spatial attributes as in ops/common/window.h.
//
//   Conv2D                x, filter     y
//   Conv2DBackpropInput   filter, dy    dx       with input_shape
//   Conv2DBackpropFilter  x, dy         dfilter  with filter_shape
#ifndef SPILLWAY_OPS_CONV2D_H_
#define SPILLWAY_OPS_CONV2D_H_

#include <cstdint>

#include "ops/common/window.h"
#include "ops/op.h"

namespace spillway::ops {

struct Conv2DGeometry {
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  WindowDim rows = {};
  WindowDim columns = {};
};

// Errors: INVALID_ARGUMENT for shapes and attributes that do not match.
absl::StatusOr<Conv2DGeometry> ReadConv2D(const Attributes& attributes,
                                          const Shape& x, const Shape& filter);

Op Conv2D();
Op Conv2DBackpropFilter();
Op Conv2DBackpropInput();

NewKernel Conv2DCpu(const KernelRequest& node);
NewKernel Conv2DBackpropFilterCpu(const KernelRequest& node);
NewKernel Conv2DBackpropInputCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_CONV2D_H_

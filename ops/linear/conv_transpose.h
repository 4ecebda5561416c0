// Conv2DTranspose, Conv3DTranspose: from y of a convolution back to the shape
// of its x. (Also known as deconvolution, although it inverts nothing.)
//
//   ConvXDTranspose  x, filter  y  with output_shape
//
// `filter` and the attributes are those of the transposed convolution, whose
// input has the shape output_shape and whose output is x: the op computes the
// input gradient of that convolution. So x is [N, spatial..., O], filter [O,
// window..., I / groups], y [N, output spatial..., I]; dtypes as in
// ops/common/conv.h.
//
// Source: Zeiler, Krishnan, Taylor, Fergus, "Deconvolutional networks", 2010;
// TensorFlow's tf.nn.conv_transpose.
#ifndef SPILLWAY_OPS_LINEAR_CONV_TRANSPOSE_H_
#define SPILLWAY_OPS_LINEAR_CONV_TRANSPOSE_H_

#include "ops/op.h"

namespace spillway::ops {

Op Conv2DTranspose();
Op Conv3DTranspose();

// For both numbers of dimensions.
NewKernel ConvTransposeCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LINEAR_CONV_TRANSPOSE_H_

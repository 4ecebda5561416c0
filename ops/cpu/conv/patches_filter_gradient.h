// The filter gradient of a convolution as one matrix product:
//
//   dfilter [O, taps * I] = dy [pixels, O], transposed, times
//                           patches [pixels, taps * I]
//
// where a row of `patches` is the part of x under one pixel's window, with
// zeros for the padding. Used if oneDNN has no primitive for the convolution
// except its sgemm, which allocates blocks internally in every run that no plan
// counts: images of a few voxels; some strides, dilations and paddings.
#ifndef SPILLWAY_OPS_CPU_CONV_PATCHES_FILTER_GRADIENT_H_
#define SPILLWAY_OPS_CPU_CONV_PATCHES_FILTER_GRADIENT_H_

#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// Whether the workspace of the kernel below (all patches at once) stays small;
// otherwise oneDNN's uncounted blocks are better.
bool HasSmallPatches(const ConvGeometry& conv);

// As MakeConvFilterGradientKernel, for one group.
NewKernel MakePatchesFilterGradientKernel(const ConvSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_PATCHES_FILTER_GRADIENT_H_

// The filter gradient of depthwise convolutions, for the windows that oneDNN
// has no depthwise primitive for: it then pads each group to a whole block of
// channels, at a sixteenth of the speed or less.
#ifndef SPILLWAY_OPS_CPU_DEPTHWISE_FILTER_GRADIENT_H_
#define SPILLWAY_OPS_CPU_DEPTHWISE_FILTER_GRADIENT_H_

#include "ops/common/conv.h"
#include "ops/cpu/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// Whether the kernel below takes this convolution, and does better than oneDNN.
bool HasOwnFilterGradient(const ConvGeometry& conv);

// As MakeConvFilterGradientKernel. The bits do not depend on the threads.
NewKernel MakeDepthwiseFilterGradientKernel(const ConvSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_DEPTHWISE_FILTER_GRADIENT_H_

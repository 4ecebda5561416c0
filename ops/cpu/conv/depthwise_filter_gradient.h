// The filter gradient of depthwise convolutions, for windows for which oneDNN
// has no depthwise primitive: it then pads each group to a whole block of
// channels and runs at a sixteenth of the speed or less.
#ifndef SPILLWAY_OPS_CPU_CONV_DEPTHWISE_FILTER_GRADIENT_H_
#define SPILLWAY_OPS_CPU_CONV_DEPTHWISE_FILTER_GRADIENT_H_

#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// Whether the kernel below supports this convolution and is faster than oneDNN.
bool HasOwnFilterGradient(const ConvGeometry& conv);

// As MakeConvFilterGradientKernel. Bitwise identical for any number of threads.
NewKernel MakeDepthwiseFilterGradientKernel(const ConvSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_DEPTHWISE_FILTER_GRADIENT_H_

// Convolutions with windows of 3 x 3 elements and their gradients by Winograd's
// algorithm F(2 x 2, 3 x 3): 16 multiplications for 4 pixels of y and a channel
// instead of 36. All arithmetic is float32.
//
// Tiles of pixels are transformed in blocks; the products of a block are one
// batch of 16 matrix products (ops/cpu/matmul_kernel.h). The workspace has the
// transformed filter and a block.
//
// Rounding errors are about those of the direct algorithm, and in filter
// gradients about three times as large (tests/ops/winograd_test.cc).
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// Whether the kernels below can compute this convolution here: two dimensions,
// windows of 3 x 3, strides, dilations and groups of 1, and a CPU with AVX-512.
bool HasWinograd(const ConvGeometry& conv);

// Whether they are likely to be faster than oneDNN's direct ones: with many
// channels, the transforms cost little beside the products. For bfloat16, most
// CPUs have instructions that the direct ones use.
bool PrefersWinograd(const ConvSpec& spec);

// Errors: UNIMPLEMENTED for dtypes other than float32 and bfloat16.
NewKernel MakeWinogradKernel(const ConvSpec& spec);                // y
NewKernel MakeWinogradInputGradientKernel(const ConvSpec& spec);   // x
NewKernel MakeWinogradFilterGradientKernel(const ConvSpec& spec);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

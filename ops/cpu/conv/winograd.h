// Convolutions with windows of 3 x 3 elements and their gradients by Winograd's
// algorithm, for tiles of 2 x 2 or 4 x 4 pixels: 2.25 or 4 times fewer
// multiplications. All arithmetic is float32.
//
// Tiles are transformed in blocks; the products of a block are one batch of
// matrix products, one for each point (ops/cpu/matmul_kernel.h). The workspace
// has the transformed filter and blocks.
//
// Rounding errors, as parts of those of the direct algorithm with 64 channels
// (tests/ops/winograd_test.cc): with tiles of 2 x 2, 0.6, and 1.2 in filter
// gradients; with tiles of 4 x 4, 5 and 6. They are relative to all pixels of a
// tile, not only to those under one window.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

#include <cstdint>

#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// Whether the kernels below can compute this convolution here: two dimensions,
// windows of 3 x 3, strides, dilations and groups of 1, and a CPU with AVX-512.
bool HasWinograd(const ConvGeometry& conv);

// Whether they are likely to be faster than oneDNN's direct ones: with many
// channels, the transforms cost little beside the products. Only AMX makes
// direct products of bfloat16 so much faster than float32 that they win.
bool PrefersWinograd(const ConvSpec& spec);

enum class WinogradTile : uint8_t { k2x2, k4x4 };

// Errors: UNIMPLEMENTED for dtypes other than float32 and bfloat16.
NewKernel MakeWinogradKernel(const ConvSpec& spec, WinogradTile tile);  // y
NewKernel MakeWinogradInputGradientKernel(const ConvSpec& spec,
                                          WinogradTile tile);  // x
NewKernel MakeWinogradFilterGradientKernel(const ConvSpec& spec,
                                           WinogradTile tile);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

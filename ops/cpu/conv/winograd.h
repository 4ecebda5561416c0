// Convolutions of stride 1 and their gradients by Winograd's algorithm, for
// windows that are squares or lines. All arithmetic is float32.
//
//   window        tile          multiplications of the direct algorithm
//   3 x 3         4 x 4, 2 x 2  4 and 2.25 times as many
//   5 x 5         2 x 2         2.8
//   1 x 3, 3 x 1  4 pixels      2
//   1 x 7, 7 x 1  3 pixels      2.3
//
// Tiles are transformed in blocks; the products of a block are one batch of
// matrix products, one for each point (ops/cpu/matmul_kernel.h). The workspace
// has the transformed filter and blocks.
//
// Rounding errors, as multiples of those of the direct algorithm with 64
// channels (tests/ops/winograd_test.cc), in the convolution and its gradients:
// 3 x 3 with tiles of 2 x 2: 0.4 to 1.2, of 4 x 4: 2.5 to 6; 5 x 5: 1.3 to 10;
// lines of 3: 1.3 to 4, of 7: 2.6 to 18. They are relative to all pixels of a
// tile, not only to those under one window.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/op.h"

namespace spillway {

// The size of a tile, in pixels of the convolution's output. One that is a line
// has windows that are lines in the same direction.
struct WinogradTile {
  int64_t height = 2;
  int64_t width = 2;

  // The name of the algorithm with these tiles: "winograd_4x4".
  std::string algorithm() const;

  friend bool operator==(const WinogradTile&, const WinogradTile&) = default;
};

// The tiles with which the kernels below can compute this convolution here, the
// largest first. Empty: it has strides, dilations or groups, another window or
// not two dimensions, or the CPU lacks AVX-512.
std::vector<WinogradTile> WinogradTilesOf(const ConvGeometry& conv);

// Whether they are likely to be faster than oneDNN's direct ones: with many
// channels, the transforms cost little beside the products. Only AMX makes
// direct products of bfloat16 so much faster than float32 that they win.
bool PrefersWinograd(const ConvSpec& spec);

// `tile`: one of WinogradTilesOf. Errors: UNIMPLEMENTED for dtypes other than
// float32 and bfloat16.
NewKernel MakeWinogradKernel(const ConvSpec& spec,
                             const WinogradTile& tile);  // y
NewKernel MakeWinogradInputGradientKernel(const ConvSpec& spec,
                                          const WinogradTile& tile);  // x
NewKernel MakeWinogradFilterGradientKernel(const ConvSpec& spec,
                                           const WinogradTile& tile);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_H_

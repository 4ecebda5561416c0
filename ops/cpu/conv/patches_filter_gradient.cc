#include "ops/cpu/conv/patches_filter_gradient.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/window_geometry.h"

namespace spillway {
namespace {

constexpr int64_t kPatchesAlignment = 256;
constexpr int64_t kSmallBytes = 32_MiB;

// How to make patches of x.
struct Patches {
  WindowGeometry conv = {};
  int64_t element_bytes = 4;

  int64_t taps() const {
    return conv.planes.size * conv.rows.size * conv.columns.size;
  }
  int64_t pixels() const {
    return conv.batch * conv.planes.output * conv.rows.output *
           conv.columns.output;
  }
  int64_t tap_bytes() const { return conv.channels * element_bytes; }
  int64_t bytes() const { return pixels() * taps() * tap_bytes(); }
};

// The element of one dimension that tap `tap` of window `o` covers; outside [0,
// input) in the padding.
int64_t ElementAt(const WindowDim& dim, int64_t o, int64_t tap) {
  return dim.begin(o) + tap * dim.dilation;
}

bool IsInside(const WindowDim& dim, int64_t element) {
  return element >= 0 && element < dim.input;
}

// Copies the patch of one pixel of y: all taps of its window, row-major.
void CopyPatch(const Patches& patches, const std::byte* x, int64_t pixel,
               std::byte* to) {
  const WindowGeometry& conv = patches.conv;
  const int64_t column = pixel % conv.columns.output;
  const int64_t row = pixel / conv.columns.output % conv.rows.output;
  const int64_t plane_of_all = pixel / conv.columns.output / conv.rows.output;
  const int64_t plane = plane_of_all % conv.planes.output;
  const std::byte* image = x + plane_of_all / conv.planes.output *
                                   conv.image_size() * patches.element_bytes;
  const auto tap_bytes = static_cast<size_t>(patches.tap_bytes());
  const Box window = {
      {0, conv.planes.size}, {0, conv.rows.size}, {0, conv.columns.size}};
  ForEachElement(window, [&](int64_t p, int64_t r, int64_t c) {
    const int64_t x_plane = ElementAt(conv.planes, plane, p);
    const int64_t x_row = ElementAt(conv.rows, row, r);
    const int64_t x_column = ElementAt(conv.columns, column, c);
    if (IsInside(conv.planes, x_plane) && IsInside(conv.rows, x_row) &&
        IsInside(conv.columns, x_column)) {
      std::memcpy(
          to, image + conv.at(x_plane, x_row, x_column) * patches.element_bytes,
          tap_bytes);
    } else {
      std::memset(to, 0, tap_bytes);
    }
    to += tap_bytes;
  });
}

// Copies all patches, one per row of `to`.
void CopyPatches(int threads, const Patches& patches, const std::byte* x,
                 std::byte* to) {
  const int64_t row_bytes = patches.taps() * patches.tap_bytes();
  ParallelFor(threads, patches.pixels(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      CopyPatch(patches, x, pixel, to + pixel * row_bytes);
    }
  });
}

Patches MakePatches(const ConvGeometry& conv, DType dtype) {
  return {.conv = MakeWindowGeometry(conv.batch, conv.in_channels, conv.window),
          .element_bytes = SizeOf(dtype)};
}

}  // namespace

bool HasSmallPatches(const ConvGeometry& conv) {
  return MakePatches(conv, DType::kFloat32).bytes() <= kSmallBytes;
}

NewKernel MakePatchesFilterGradientKernel(const ConvSpec& spec) {
  const ConvGeometry& conv = spec.geometry;
  SPILLWAY_CHECK(conv.groups == 1);
  const Patches patches = MakePatches(conv, spec.x.dtype);
  SPILLWAY_ASSIGN_OR_RETURN(
      std::unique_ptr<Kernel> product,
      MakeMatMulKernel({.m = conv.out_channels,
                        .k = patches.pixels(),
                        .n = patches.taps() * conv.in_channels,
                        .transpose_a = true,
                        .a_dtype = spec.y.dtype,
                        .b_dtype = spec.x.dtype,
                        .y_dtype = spec.filter.dtype},
                       spec.threads));
  const auto x = static_cast<size_t>(spec.x.place.index);
  const auto dy = static_cast<size_t>(spec.y.place.index);
  const int64_t patches_bytes = AlignUp(patches.bytes(), kPatchesAlignment);
  const int64_t workspace_bytes = patches_bytes + product->workspace_bytes();
  return MakeKernel(
      [=, threads = spec.threads,
       product = std::move(product)](const KernelContext& context) {
        auto* to = static_cast<std::byte*>(context.workspace);
        CopyPatches(threads, patches, context.input<std::byte>(x), to);
        const std::array<void*, 2> factors = {context.inputs[dy], to};
        KernelContext of_product = context;
        of_product.inputs = factors;
        of_product.workspace = to + patches_bytes;
        return product->Run(of_product);
      },
      workspace_bytes);
}

}  // namespace spillway

#include "ops/gpu/strided_box.h"

#include "base/check.h"

namespace spillway {
namespace {

// Whether elements twice as wide cover the same bytes.
bool CanWiden(const gpu::StridedBox& box) {
  const gpu::StridedDim& row = box.dims[box.rank - 1];
  bool is_even = box.element_bytes < 16 && row.from_stride == 1 &&
                 row.to_stride == 1 && row.size % 2 == 0 &&
                 box.from_offset % 2 == 0 && box.to_offset % 2 == 0;
  for (int i = 0; i < box.rank - 1; ++i) {
    is_even = is_even && box.dims[i].from_stride % 2 == 0 &&
              box.dims[i].to_stride % 2 == 0;
  }
  return is_even;
}

void Widen(gpu::StridedBox& box) {
  box.element_bytes *= 2;
  box.from_offset /= 2;
  box.to_offset /= 2;
  box.dims[box.rank - 1].size /= 2;
  for (int i = 0; i < box.rank - 1; ++i) {
    box.dims[i].from_stride /= 2;
    box.dims[i].to_stride /= 2;
  }
}

}  // namespace

gpu::StridedBox MakeStridedBox(const StridedCopy& copy) {
  const StridedCopy simple = Simplify(copy);
  SPILLWAY_CHECK(simple.sizes.size() <= gpu::kMostDims);
  gpu::StridedBox box = {.rank = static_cast<int>(simple.sizes.size()),
                         .from_offset = copy.from_start,
                         .to_offset = copy.to_start,
                         .element_bytes = copy.element_bytes};
  for (size_t i = 0; i < simple.sizes.size(); ++i) {
    box.dims[i] = {.size = simple.sizes[i],
                   .from_stride = simple.from_strides[i],
                   .to_stride = simple.to_strides[i]};
  }
  while (CanWiden(box)) Widen(box);
  return box;
}

}  // namespace spillway

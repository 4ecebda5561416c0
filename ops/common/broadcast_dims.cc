#include "ops/common/broadcast_dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// Dimension `from_end` of `shape`, counted from its end; 1 if it has none.
int64_t DimFromEnd(const Shape& shape, int from_end) {
  return from_end < shape.rank() ? shape.dim(shape.rank() - 1 - from_end) : 1;
}

// The distance between neighbours of that dimension, without repetition.
int64_t StrideFromEnd(const Shape& shape, int from_end) {
  int64_t stride = 1;
  for (int i = 0; i < std::min(from_end, shape.rank()); ++i) {
    stride *= DimFromEnd(shape, i);
  }
  return stride;
}

// Whether `outer` continues `inner` for every operand.
bool CanMerge(const BroadcastDim& outer, const BroadcastDim& inner) {
  for (size_t k = 0; k < outer.steps.size(); ++k) {
    if (outer.steps[k] != inner.steps[k] * inner.size) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Shape> BroadcastShape(std::span<const Shape> shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (int i = 0; i < rank; ++i) {
    int64_t& dim = dims[static_cast<size_t>(rank - 1 - i)];
    for (const Shape& shape : shapes) {
      const int64_t own = DimFromEnd(shape, i);
      if (own == 1 || own == dim) continue;
      if (dim != 1) {
        std::string text;
        for (const Shape& each : shapes) {
          text += (text.empty() ? "" : " and ") + each.ToString();
        }
        return InvalidArgument(
            fmt::format("{} have no common shape: dimensions must be equal or "
                        "1, from the last one on",
                        text));
      }
      dim = own;
    }
  }
  return Shape(dims);
}

std::vector<BroadcastDim> MergedDims(std::span<const Shape> shapes) {
  const absl::StatusOr<Shape> common = BroadcastShape(shapes);
  SPILLWAY_CHECK(common.ok() && shapes.size() <= 3);
  std::vector<BroadcastDim> dims;  // innermost first
  for (int i = 0; i < common->rank(); ++i) {
    BroadcastDim dim = {.size = DimFromEnd(*common, i)};
    if (dim.size == 1) continue;
    for (size_t k = 0; k < shapes.size(); ++k) {
      const bool is_repeated = DimFromEnd(shapes[k], i) == 1;
      dim.steps[k] = is_repeated ? 0 : StrideFromEnd(shapes[k], i);
    }
    if (!dims.empty() && CanMerge(dim, dims.back())) {
      dims.back().size *= dim.size;
    } else {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) dims.emplace_back();
  std::ranges::reverse(dims);
  return dims;
}

}  // namespace spillway

#include "ops/common/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway {

absl::StatusOr<Window> ReadPoolWindow(const Attributes& attributes,
                                      const Shape& x) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> ksize,
                            attributes.GetInts("ksize"));
  const auto spatial = std::span(x.dims()).subspan(1, x.dims().size() - 2);
  SPILLWAY_ASSIGN_OR_RETURN(Window window,
                            ReadWindow(attributes, spatial, ksize));
  for (const WindowDim& dim : window) {
    if (std::max(dim.pad_before, dim.pad_after) < dim.size) continue;
    return InvalidArgument(fmt::format(
        "a pool's window of {} elements must exceed its padding; it is [{}, "
        "{}]",
        dim.size, dim.pad_before, dim.pad_after));
  }
  return window;
}

absl::StatusOr<TensorType> PoolOutput(int spatial, const Attributes& attributes,
                                      const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRank("x", x, spatial + 2));
  SPILLWAY_ASSIGN_OR_RETURN(const Window window,
                            ReadPoolWindow(attributes, x.shape));
  std::vector<int64_t> dims = Each(window, &WindowDim::output);
  dims.insert(dims.begin(), x.shape.dim(0));
  dims.push_back(x.shape.dim(-1));
  return TensorType{.dtype = x.dtype, .shape = Shape(std::move(dims))};
}

OpCost PoolCost(const OpContext& node, const Shape& y) {
  const auto ksize = node.attributes.GetInts("ksize");
  int64_t taps = 1;
  if (ksize.ok()) {
    for (const int64_t size : *ksize) taps *= size;
  }
  return {.flops = static_cast<double>(y.num_elements() * taps),
          .bytes = TouchedBytes(node)};
}

}  // namespace spillway

#include "graph/shape.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 46;  // exclusive

}  // namespace

int64_t Shape::num_elements() const {
  int64_t elements = 1;
  for (const int64_t dim : dims_) elements *= dim;
  return elements;
}

std::string Shape::ToString() const {
  return fmt::format("[{}]", fmt::join(dims_, ", "));
}

absl::Status CheckShape(const Shape& shape) {
  if (shape.rank() > Shape::kMaxRank) {
    return InvalidArgument(
        fmt::format("a shape has at most {} dimensions; this one has {}",
                    Shape::kMaxRank, shape.rank()));
  }
  int64_t elements = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim <= 0) {
      return InvalidArgument(fmt::format("dimension {} of shape {} must be > 0",
                                         dim, shape.ToString()));
    }
    // Divide rather than multiply, so that nothing can overflow.
    if (dim > (kMaxElements - 1) / elements) {
      return InvalidArgument(fmt::format("shape {} holds 2^46 elements or more",
                                         shape.ToString()));
    }
    elements *= dim;
  }
  return absl::OkStatus();
}

}  // namespace spillway

// Static dimensions of a tensor, outermost first. A scalar has none.
#ifndef SPILLWAY_GRAPH_SHAPE_H_
#define SPILLWAY_GRAPH_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace spillway {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const std::vector<int64_t>& dims() const& { return dims_; }
  // For a temporary, so that for (int64_t dim : tensor.shape().dims()) is safe.
  std::vector<int64_t> dims() && { return std::move(dims_); }

  // Dimension `axis`; negative axes count from the end (-1 is the last).
  int64_t dim(int axis) const {
    return dims_[static_cast<size_t>(axis < 0 ? axis + rank() : axis)];
  }

  // Product of the dimensions; 1 for a scalar. Cannot overflow for a shape that
  // passed CheckShape, as every shape in a Graph has.
  int64_t num_elements() const;

  // "[64, 28, 28, 1]"
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

// INVALID_ARGUMENT if a dimension is not positive, the rank exceeds kMaxRank,
// or the tensor would hold 2^46 elements or more.
absl::Status CheckShape(const Shape& shape);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_SHAPE_H_

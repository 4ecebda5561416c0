#include "ops/common/sum_to.h"

#include <cstdint>
#include <vector>

namespace spillway {

Tensor SumTo(const TensorType& type, Tensor dy, GradientContext& grad) {
  const Shape shape = dy.shape();
  const Shape& wanted = type.shape;
  if (!dy.is_valid() || wanted == shape) return dy;
  if (wanted.rank() == 1 && shape.rank() > 1 &&
      wanted.dim(0) == shape.dim(-1)) {
    return grad.Add("BiasAddGrad", {dy});
  }
  std::vector<int64_t> axes;
  const int added = shape.rank() - wanted.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t own = axis < added ? 1 : wanted.dim(axis - added);
    if (own != shape.dim(axis)) axes.push_back(axis);
  }
  Tensor sum = dy;
  if (!axes.empty()) {
    sum = grad.Add("Sum", {dy}, {{"axes", axes}});
  }
  if (!sum.is_valid() || sum.shape() == wanted) return sum;
  return grad.Add("Reshape", {sum}, {{"shape", wanted}});
}

}  // namespace spillway

#include "ops/common/sum_to.h"

#include <cstdint>
#include <numeric>
#include <vector>

namespace spillway {

Tensor SumTo(const TensorType& type, Tensor dy, GradientContext& grad) {
  if (type.shape == dy.shape()) return dy;
  if (type.shape.rank() == 1) return grad.Add("BiasAddGrad", {dy});
  std::vector<int64_t> axes(static_cast<size_t>(dy.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return grad.Add("Sum", {dy}, {{"axes", axes}});
}

}  // namespace spillway

#include "ops/matmul.h"

#include <fmt/format.h>

#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  ASSIGN_OR_RETURN(const MatMulSizes sizes,
                   ReadMatMul(node.attributes, node.inputs));
  return std::vector<TensorType>{
      {.dtype = node.inputs[0].dtype, .shape = {sizes.m, sizes.n}}};
}

// Column: is a transposed. Row: is b.
//               y = a b                    y = a' b
//   b     da = dy b', db = a' dy     da = b dy',  db = a dy
//   b'    da = dy b,  db = dy' a     da = b' dy', db = dy' a'
absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  ASSIGN_OR_RETURN(const bool ta,
                   grad.attributes().GetBool("transpose_a", false));
  ASSIGN_OR_RETURN(const bool tb,
                   grad.attributes().GetBool("transpose_b", false));
  const auto product = [&](Tensor left, bool transpose_left, Tensor right,
                           bool transpose_right) {
    return grad.Add(
        "MatMul", {left, right},
        {{"transpose_a", transpose_left}, {"transpose_b", transpose_right}});
  };
  const Tensor a = grad.x(0);
  const Tensor b = grad.x(1);
  const Tensor dy = grad.dy(0);
  std::vector<Tensor> gradients(2);
  if (grad.wants(0)) {
    gradients[0] = ta ? product(b, tb, dy, true) : product(dy, false, b, !tb);
  }
  if (grad.wants(1)) {
    gradients[1] = tb ? product(dy, true, a, ta) : product(a, !ta, dy, false);
  }
  return gradients;
}

OpCost Cost(const OpContext& node) {
  const Shape& a = node.inputs[0].shape;
  const Shape& y = node.outputs[0].shape;
  const int64_t k = a.num_elements() / y.dim(0);
  return {.flops = 2.0 * static_cast<double>(y.num_elements()) *
                   static_cast<double>(k),
          .bytes = TouchedBytes(node)};
}

}  // namespace

absl::StatusOr<MatMulSizes> ReadMatMul(const Attributes& attributes,
                                       std::span<const TensorType> inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  RETURN_IF_ERROR(ExpectFloating("a", a));
  RETURN_IF_ERROR(ExpectDType("b", b, a.dtype));
  RETURN_IF_ERROR(ExpectRank("a", a, 2));
  RETURN_IF_ERROR(ExpectRank("b", b, 2));
  ASSIGN_OR_RETURN(const bool ta, attributes.GetBool("transpose_a", false));
  ASSIGN_OR_RETURN(const bool tb, attributes.GetBool("transpose_b", false));
  const MatMulSizes sizes = {.m = a.shape.dim(ta ? 1 : 0),
                             .k = a.shape.dim(ta ? 0 : 1),
                             .n = b.shape.dim(tb ? 0 : 1),
                             .transpose_a = ta,
                             .transpose_b = tb};
  const int64_t rows_of_b = b.shape.dim(tb ? 1 : 0);
  if (sizes.k == rows_of_b) return sizes;
  return InvalidArgument(fmt::format(
      "a has {} columns and b {} rows{}; a is {}, b is {}", sizes.k, rows_of_b,
      ta || tb ? " (as transposed)" : "", a.ToString(), b.ToString()));
}

Op MatMul() {
  return {.def = {.name = "MatMul",
                  .inputs = {"a", "b"},
                  .outputs = {"y"},
                  .attributes = {"transpose_a", "transpose_b"},
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = Cost},
          .kernels = {{DeviceKind::kCpu, MatMulCpu}}};
}

}  // namespace spillway::ops

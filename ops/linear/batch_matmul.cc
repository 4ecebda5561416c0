#include "ops/linear/batch_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/sum_to.h"

namespace spillway::ops {
namespace {

// All dimensions but the last two.
std::vector<int64_t> BatchDims(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  dims.resize(dims.size() - 2);
  return dims;
}

absl::StatusOr<std::vector<TensorType>> InferBatchMatMul(
    const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(BatchMatMulSizes sizes,
                            ReadBatchMatMul(node.attributes, node.inputs));
  return std::vector{
      TensorType{.dtype = node.inputs[0].dtype, .shape = std::move(sizes.y)}};
}

// As MatMul's; a single matrix gets the sum over the batch.
absl::StatusOr<std::vector<Tensor>> BatchMatMulGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool ta,
                            grad.attributes().GetBool("transpose_a", false));
  SPILLWAY_ASSIGN_OR_RETURN(const bool tb,
                            grad.attributes().GetBool("transpose_b", false));
  const Tensor a = grad.x(0);
  const Tensor b = grad.x(1);
  const Tensor dy = grad.dy(0);
  const auto product = [&](Tensor left, bool transpose_left, Tensor right,
                           bool transpose_right) {
    return grad.Add(
        "BatchMatMul", {left, right},
        {{"transpose_a", transpose_left}, {"transpose_b", transpose_right}});
  };
  std::vector<Tensor> gradients(2);
  if (grad.wants(0)) {
    const Tensor da =
        ta ? product(b, tb, dy, true) : product(dy, false, b, !tb);
    gradients[0] = SumTo(a.type(), da, grad);
  }
  if (grad.wants(1)) {
    const Tensor db =
        tb ? product(dy, true, a, ta) : product(a, !ta, dy, false);
    gradients[1] = SumTo(b.type(), db, grad);
  }
  return gradients;
}

OpCost BatchMatMulCost(const OpContext& node) {
  const absl::StatusOr<BatchMatMulSizes> sizes =
      ReadBatchMatMul(node.attributes, node.inputs);
  const int64_t k = sizes.ok() ? sizes->k : 1;
  return {.flops = static_cast<double>(node.outputs[0].num_elements()) *
                   static_cast<double>(2 * k),
          .bytes = TouchedBytes(node)};
}

}  // namespace

absl::StatusOr<BatchMatMulSizes> ReadBatchMatMul(
    const Attributes& attributes, std::span<const TensorType> inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("a", a));
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("b", b, a.dtype));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("a", a, 2));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("b", b, 2));
  SPILLWAY_ASSIGN_OR_RETURN(const bool ta,
                            attributes.GetBool("transpose_a", false));
  SPILLWAY_ASSIGN_OR_RETURN(const bool tb,
                            attributes.GetBool("transpose_b", false));
  const std::vector<int64_t> of_a = BatchDims(a.shape);
  const std::vector<int64_t> of_b = BatchDims(b.shape);
  const int64_t matrices_a = Shape(of_a).num_elements();
  const int64_t matrices_b = Shape(of_b).num_elements();
  BatchMatMulSizes sizes = {.batch = std::max(matrices_a, matrices_b),
                            .repeats_a = matrices_a < matrices_b,
                            .repeats_b = matrices_b < matrices_a,
                            .m = a.shape.dim(ta ? -1 : -2),
                            .k = a.shape.dim(ta ? -2 : -1),
                            .n = b.shape.dim(tb ? -2 : -1),
                            .transpose_a = ta,
                            .transpose_b = tb};
  const bool batches_fit = of_a == of_b || matrices_a == 1 || matrices_b == 1;
  if (!batches_fit || sizes.k != b.shape.dim(tb ? -1 : -2)) {
    return InvalidArgument(fmt::format(
        "a and b are no matrices, or batches of them, that can be "
        "multiplied{}; "
        "a is {}, b is {}",
        ta || tb ? " (as transposed)" : "", a.ToString(), b.ToString()));
  }
  // Of equal batches, the dimensions of the one that has more of them.
  const bool takes_a = matrices_a > matrices_b ||
                       (matrices_a == matrices_b && of_a.size() >= of_b.size());
  std::vector<int64_t> dims = takes_a ? of_a : of_b;
  dims.push_back(sizes.m);
  dims.push_back(sizes.n);
  sizes.y = Shape(dims);
  return sizes;
}

Op BatchMatMul() {
  return {.def = {.name = "BatchMatMul",
                  .inputs = {"a", "b"},
                  .outputs = {"y"},
                  .attributes = {"transpose_a", "transpose_b"},
                  .infer = InferBatchMatMul,
                  .gradient = BatchMatMulGradient,
                  .cost = BatchMatMulCost},
          .kernels = {{DeviceKind::kCpu, BatchMatMulCpu}}};
}

}  // namespace spillway::ops

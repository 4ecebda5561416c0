#include "ops/linear/matmul.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/activation.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/stated_type.h"

namespace spillway::ops {
namespace {

// The tensors of a product may not have two different 16-bit floats.
absl::Status ExpectSameOrFloat32(std::string_view name, const TensorType& type,
                                 std::string_view other_name,
                                 const TensorType& other) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating(name, type));
  if (type.dtype == other.dtype || type.dtype == DType::kFloat32 ||
      other.dtype == DType::kFloat32) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("{} must be {} or float32, as {} is {}; "
                  "it is {}",
                  name, DTypeName(other.dtype), other_name, other.ToString(),
                  type.ToString()));
}

absl::StatusOr<std::vector<TensorType>> InferMatMul(const InferContext& node) {
  const TensorType& a = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const MatMulSizes sizes,
                            ReadMatMul(node.attributes, node.inputs));
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype,
                            StatedDType(node.attributes, a.dtype));
  const TensorType y = {.dtype = dtype, .shape = {sizes.m, sizes.n}};
  SPILLWAY_RETURN_IF_ERROR(ExpectSameOrFloat32("y", y, "a", a));
  SPILLWAY_RETURN_IF_ERROR(ExpectSameOrFloat32("y", y, "b", node.inputs[1]));
  SPILLWAY_RETURN_IF_ERROR(ReadRelu(node.attributes).status());
  if (node.inputs.size() > kMatMulBias) {
    SPILLWAY_RETURN_IF_ERROR(ExpectTypeOrFloat32(
        "bias", node.inputs[kMatMulBias], {.dtype = dtype, .shape = {sizes.n}},
        "the columns of y"));
  }
  return std::vector{y};
}

// dy is the gradient of the sum: masked by the activation.
//
// Column: is a transposed. Row: is b.
//               y = a b                    y = a' b
//   b     da = dy b', db = a' dy     da = b dy',  db = a dy
//   b'    da = dy b,  db = dy' a     da = b' dy', db = dy' a'
absl::StatusOr<std::vector<Tensor>> MatMulGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool ta,
                            grad.attributes().GetBool("transpose_a", false));
  SPILLWAY_ASSIGN_OR_RETURN(const bool tb,
                            grad.attributes().GetBool("transpose_b", false));
  DType dtype = DType::kFloat32;  // of the computed gradient
  const auto product = [&](Tensor left, bool transpose_left, Tensor right,
                           bool transpose_right) {
    Attributes attributes = {{"transpose_a", transpose_left},
                             {"transpose_b", transpose_right}};
    if (dtype != left.type().dtype) attributes.Set("dtype", dtype);
    return grad.Add("MatMul", {left, right}, attributes);
  };
  const Tensor a = grad.x(0);
  const Tensor b = grad.x(1);
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(grad.attributes()));
  const Tensor dy =
      has_relu ? grad.Add("ReluGrad", {grad.dy(0), grad.y(0)}) : grad.dy(0);
  std::vector<Tensor> gradients(static_cast<size_t>(grad.num_inputs()));
  if (grad.wants(0)) {
    dtype = a.type().dtype;
    gradients[0] = ta ? product(b, tb, dy, true) : product(dy, false, b, !tb);
  }
  if (grad.wants(1)) {
    dtype = b.type().dtype;
    gradients[1] = tb ? product(dy, true, a, ta) : product(a, !ta, dy, false);
  }
  if (gradients.size() > kMatMulBias && grad.wants(kMatMulBias)) {
    Attributes attributes;
    const DType of_bias = grad.x(kMatMulBias).type().dtype;
    if (of_bias != dy.type().dtype) attributes.Set("dtype", of_bias);
    gradients[kMatMulBias] = grad.Add("BiasAddGrad", {dy}, attributes);
  }
  return gradients;
}

OpCost MatMulCost(const OpContext& node) {
  const Shape& a = node.inputs[0].shape;
  const Shape& y = node.outputs[0].shape;
  const int64_t k = a.num_elements() / y.dim(0);
  const int64_t additions = node.inputs.size() > kMatMulBias ? 1 : 0;
  return {.flops = static_cast<double>(y.num_elements()) *
                   static_cast<double>(2 * k + additions),
          .bytes = TouchedBytes(node)};
}

}  // namespace

absl::StatusOr<MatMulSizes> ReadMatMul(const Attributes& attributes,
                                       std::span<const TensorType> inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("a", a));
  SPILLWAY_RETURN_IF_ERROR(ExpectSameOrFloat32("b", b, "a", a));
  SPILLWAY_RETURN_IF_ERROR(ExpectRank("a", a, 2));
  SPILLWAY_RETURN_IF_ERROR(ExpectRank("b", b, 2));
  SPILLWAY_ASSIGN_OR_RETURN(const bool ta,
                            attributes.GetBool("transpose_a", false));
  SPILLWAY_ASSIGN_OR_RETURN(const bool tb,
                            attributes.GetBool("transpose_b", false));
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
                  .inputs = {"a", "b", "bias"},
                  .outputs = {"y"},
                  .optional_inputs = 1,
                  .attributes = {"transpose_a", "transpose_b", "dtype",
                                 "activation"},
                  .infer = InferMatMul,
                  .gradient = MatMulGradient,
                  .cost = MatMulCost},
          .kernels = {{DeviceKind::kCpu, MatMulCpu}}};
}

}  // namespace spillway::ops

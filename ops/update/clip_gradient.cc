#include "ops/update/clip_gradient.h"

#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferSquareSum(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("x", node.inputs[0], DType::kFloat32));
  return std::vector{TensorType{.dtype = DType::kFloat32, .shape = {}}};
}

absl::StatusOr<std::vector<TensorType>> InferNormFactor(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("square_sum", node.inputs[0], {}, "a number"));
  SPILLWAY_RETURN_IF_ERROR(
      ReadPositive(node.attributes, "max_norm", 0).status());
  SPILLWAY_RETURN_IF_ERROR(ReadPositive(node.attributes, "scale", 1).status());
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> InferClipByValue(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("x", node.inputs[0], DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(ReadPositive(node.attributes, "limit", 0).status());
  return std::vector{node.inputs[0]};
}

OpCost SquareSumCost(const OpContext& node) {
  return {.flops = 2 * static_cast<double>(node.inputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

}  // namespace

absl::StatusOr<float> ReadPositive(const Attributes& attributes,
                                   std::string_view name, double fallback) {
  SPILLWAY_ASSIGN_OR_RETURN(const double value,
                            attributes.GetReal(name, fallback));
  const auto narrow = static_cast<float>(value);
  if (narrow > 0 && std::isfinite(narrow)) return narrow;
  return InvalidArgument(fmt::format(
      "attribute '{}' must be a positive float32; it is {}", name, value));
}

Op SquareSum() {
  return {.def = {.name = "SquareSum",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .infer = InferSquareSum,
                  .cost = SquareSumCost},
          .kernels = {{DeviceKind::kCpu, SquareSumCpu}}};
}

Op NormFactor() {
  return {.def = {.name = "NormFactor",
                  .inputs = {"square_sum"},
                  .outputs = {"y"},
                  .attributes = {"max_norm", "scale"},
                  .infer = InferNormFactor,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, NormFactorCpu}}};
}

Op ClipByValue() {
  return {.def = {.name = "ClipByValue",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"limit"},
                  .infer = InferClipByValue,
                  .cost = ElementwiseCost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, ClipByValueCpu}}};
}

}  // namespace spillway::ops

#include "ops/normalization/batch_norm.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/activation.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;

constexpr int kMask = 3;  // output of FusedBatchNorm

const std::vector<std::string> kNormAttributes = {
    "epsilon", "momentum", "is_training", "activation", "mask"};

TensorType ChannelVector(const TensorType& x) {
  return {.dtype = DType::kFloat32, .shape = {x.shape.dim(-1)}};
}

// `names` of `types`, each float32 [C].
absl::Status ExpectChannelVectors(std::span<const char* const> names,
                                  std::span<const TensorType> types,
                                  const TensorType& x) {
  for (size_t i = 0; i < names.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        ExpectType(names[i], types[i], ChannelVector(x), "the channels of x"));
  }
  return absl::OkStatus();
}

absl::Status ExpectInput(const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  return ExpectRankAtLeast("x", x, 2);
}

// Of the mask of x's elements.
absl::StatusOr<TensorType> MaskType(const TensorType& x,
                                    FusedActivation activation, bool has_side) {
  if (!has_side || activation == FusedActivation::kNone) {
    return InvalidArgument("a mask requires a side and an activation");
  }
  std::vector<int64_t> dims(x.shape.dims().begin(), x.shape.dims().end());
  if (dims.back() % 8 != 0) {
    return InvalidArgument(fmt::format(
        "a mask requires a multiple of 8 channels; x has {}", dims.back()));
  }
  dims.back() /= 8;
  return TensorType{.dtype = DType::kUInt8, .shape = Shape(dims)};
}

absl::StatusOr<Types> InferBatchNorm(const InferContext& node) {
  static constexpr const char* kVectors[] = {"scale", "offset", "moving_mean",
                                             "moving_variance"};
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes norm,
                            ReadBatchNorm(node.attributes));
  SPILLWAY_RETURN_IF_ERROR(ExpectInput(x));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectChannelVectors(kVectors, node.inputs.subspan(1), x));
  if (node.inputs.size() == 6) {
    SPILLWAY_RETURN_IF_ERROR(ExpectType("side", node.inputs[5], x, "x"));
  }
  Types outputs = {x, ChannelVector(x), ChannelVector(x)};
  if (norm.mask) {
    const bool has_side = node.inputs.size() == 6;
    SPILLWAY_ASSIGN_OR_RETURN(const TensorType mask,
                              MaskType(x, norm.activation, has_side));
    outputs.push_back(mask);
  }
  return outputs;
}

absl::StatusOr<Types> InferBatchNormApply(const InferContext& node) {
  static constexpr const char* kVectors[] = {"scale", "offset", "saved_mean",
                                             "saved_inv_std"};
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ReadActivation(node.attributes).status());
  SPILLWAY_RETURN_IF_ERROR(ExpectInput(x));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectChannelVectors(kVectors, node.inputs.subspan(1), x));
  if (node.inputs.size() == 6) {
    SPILLWAY_RETURN_IF_ERROR(ExpectType("side", node.inputs[5], x, "x"));
  }
  return Types{x};
}

absl::StatusOr<Types> InferBatchNormGrad(const InferContext& node) {
  static constexpr const char* kVectors[] = {"scale", "offset", "saved_mean",
                                             "saved_inv_std"};
  const TensorType& x = node.inputs[1];
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes norm,
                            ReadBatchNorm(node.attributes));
  SPILLWAY_RETURN_IF_ERROR(ExpectInput(x));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", node.inputs[0], x, "x"));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectChannelVectors(kVectors, node.inputs.subspan(2), x));
  Types outputs = {x, ChannelVector(x), ChannelVector(x)};
  const bool has_side = node.inputs.size() == 7;
  if (norm.mask) {
    SPILLWAY_ASSIGN_OR_RETURN(const TensorType mask,
                              MaskType(x, norm.activation, has_side));
    SPILLWAY_RETURN_IF_ERROR(
        ExpectType("mask", node.inputs[6], mask, "a bit for each of x"));
  } else if (has_side) {
    SPILLWAY_RETURN_IF_ERROR(ExpectType("y", node.inputs[6], x, "x"));
    if (norm.activation == FusedActivation::kNone) {
      return InvalidArgument("y is read only with an activation");
    }
  }
  if (has_side) outputs.push_back(x);
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> BatchNormGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes norm,
                            ReadBatchNorm(grad.attributes()));
  const bool has_side = grad.num_inputs() == 6;
  const bool has_activation = norm.activation != FusedActivation::kNone;
  std::vector<Tensor> gradients(static_cast<size_t>(grad.num_inputs()));
  if (!grad.dy(0).is_valid()) return gradients;
  std::vector<Tensor> inputs = {grad.dy(0), grad.x(0), grad.x(1),
                                grad.x(2),  grad.y(1), grad.y(2)};
  if (has_side && has_activation) {
    inputs.push_back(grad.y(norm.mask ? kMask : 0));
  }
  const std::vector<Tensor> outputs =
      grad.AddAll("FusedBatchNormGrad", inputs, grad.attributes());
  for (size_t i = 0; i < outputs.size(); ++i) {
    gradients[i < 3 ? i : 5] = outputs[i];
  }
  if (has_side && !has_activation) gradients[5] = grad.dy(0);
  return gradients;
}

// y is a function of x and the saved statistics; the statistics themselves are
// not computed again, since that would update the moving ones twice.
std::optional<DerivedNode> DeriveY(const OpContext& node, int output) {
  const auto activation = node.attributes.GetString("activation", "none");
  if (output != 0 || !activation.ok()) return std::nullopt;
  DerivedNode apply = {.op = "BatchNormApply",
                       .attributes = {{"activation", *activation}},
                       .inputs = {{.index = 0},
                                  {.index = 1},
                                  {.index = 2},
                                  {.is_output = true, .index = 1},
                                  {.is_output = true, .index = 2}}};
  if (node.inputs.size() == 6) apply.inputs.push_back({.index = 5});
  return apply;
}

// Flops per element: subtract, multiply, add offset, compare, and form the
// factor.
OpCost ApplyCost(const OpContext& node) {
  return {.flops = 5 * static_cast<double>(node.inputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

// Flops per element in training: 1 for the mean, 3 for the variance, 4 to
// normalise; x is read twice. Otherwise 4.
OpCost BatchNormCost(const OpContext& node) {
  const auto norm = ReadBatchNorm(node.attributes);
  const bool is_training = norm.ok() && norm->is_training;
  const TensorType& x = node.inputs[0];
  const auto elements = static_cast<double>(x.num_elements());
  return {.flops = (is_training ? 8 : 4) * elements,
          .bytes = TouchedBytes(node) + (is_training ? x.num_bytes() : 0)};
}

// Flops per element: 6 for the sums and 6 for dx; dy and x are read twice.
OpCost GradCost(const OpContext& node) {
  const TensorType& x = node.inputs[1];
  return {.flops = 12 * static_cast<double>(x.num_elements()),
          .bytes = TouchedBytes(node) + 2 * x.num_bytes()};
}

}  // namespace

absl::StatusOr<BatchNormAttributes> ReadBatchNorm(
    const Attributes& attributes) {
  BatchNormAttributes norm;
  SPILLWAY_ASSIGN_OR_RETURN(
      norm.epsilon, GetRealIn(attributes, "epsilon", norm.epsilon, 1e-12, 1));
  SPILLWAY_ASSIGN_OR_RETURN(
      norm.momentum, GetRealIn(attributes, "momentum", norm.momentum, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(
      norm.is_training, attributes.GetBool("is_training", norm.is_training));
  SPILLWAY_ASSIGN_OR_RETURN(norm.activation, ReadActivation(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(norm.mask, attributes.GetBool("mask", norm.mask));
  return norm;
}

Op BatchNormApply() {
  return {.def = {.name = "BatchNormApply",
                  .inputs = {"x", "scale", "offset", "saved_mean",
                             "saved_inv_std", "side"},
                  .outputs = {"y"},
                  .optional_inputs = 1,
                  .attributes = {"activation"},
                  .infer = InferBatchNormApply,
                  .cost = ApplyCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 5, .output = 0}},
                  .part_inputs = {0}},
          .kernels = {{DeviceKind::kCpu, BatchNormApplyCpu}}};
}

Op FusedBatchNorm() {
  return {.def = {.name = "FusedBatchNorm",
                  .inputs = {"x", "scale", "offset", "moving_mean",
                             "moving_variance", "side"},
                  .outputs = {"y", "saved_mean", "saved_inv_std", "mask"},
                  .optional_inputs = 1,
                  .attributes = kNormAttributes,
                  .infer = InferBatchNorm,
                  .gradient = BatchNormGradient,
                  .cost = BatchNormCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 5, .output = 0}},
                  .mutates = {3, 4},
                  .recompute = RecomputeRule::kDerive,
                  .derive = DeriveY,
                  .part_inputs = {0}},
          .kernels = {{DeviceKind::kCpu, FusedBatchNormCpu}}};
}

Op FusedBatchNormGrad() {
  return {.def = {.name = "FusedBatchNormGrad",
                  .inputs = {"dy", "x", "scale", "offset", "saved_mean",
                             "saved_inv_std", "y_or_mask"},
                  .outputs = {"dx", "dscale", "doffset", "dside"},
                  .optional_inputs = 1,
                  .attributes = kNormAttributes,
                  .infer = InferBatchNormGrad,
                  .cost = GradCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0},
                               {.input = 0, .output = 3}},
                  .in_place_together = true,
                  .part_inputs = {0, 1}},
          .kernels = {{DeviceKind::kCpu, FusedBatchNormGradCpu}}};
}

}  // namespace spillway::ops

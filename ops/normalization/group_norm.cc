#include "ops/normalization/group_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;
using ReadGroups = absl::StatusOr<NormGroups> (*)(const Attributes&,
                                                  const TensorType&,
                                                  const TensorType&);

// saved_mean and saved_inv_std.
TensorType StatisticsOfLayer(const TensorType& x, const TensorType& scale,
                             const NormGroups& /*groups*/) {
  std::vector<int64_t> dims = x.shape.dims();
  dims.resize(dims.size() - static_cast<size_t>(scale.shape.rank()));
  return {.dtype = DType::kFloat32, .shape = Shape(dims)};
}

TensorType StatisticsOfGroups(const TensorType& /*x*/,
                              const TensorType& /*scale*/,
                              const NormGroups& groups) {
  return {.dtype = DType::kFloat32, .shape = {groups.samples, groups.groups}};
}

using StatisticsOf = TensorType (*)(const TensorType&, const TensorType&,
                                    const NormGroups&);

template <ReadGroups kRead, StatisticsOf kStatistics>
absl::StatusOr<Types> InferNorm(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& scale = node.inputs[1];
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups groups,
                            kRead(node.attributes, x, scale));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("offset", node.inputs[2], scale, "scale"));
  const TensorType statistics = kStatistics(x, scale, groups);
  return Types{x, statistics, statistics};
}

template <ReadGroups kRead, StatisticsOf kStatistics>
absl::StatusOr<Types> InferNormGrad(const InferContext& node) {
  const TensorType& x = node.inputs[1];
  const TensorType& scale = node.inputs[2];
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups groups,
                            kRead(node.attributes, x, scale));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", node.inputs[0], x, "x"));
  const TensorType statistics = kStatistics(x, scale, groups);
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("saved_mean", node.inputs[3], statistics, "the groups of x"));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("saved_inv_std", node.inputs[4],
                                      statistics, "the groups of x"));
  return Types{x, scale, scale};
}

absl::StatusOr<std::vector<Tensor>> NormGradient(GradientContext& grad,
                                                 const std::string& op) {
  if (grad.dy(1).is_valid() || grad.dy(2).is_valid()) {
    return InvalidArgument("its statistics have no gradient");
  }
  if (!grad.dy(0).is_valid()) return std::vector<Tensor>(3);
  return grad.AddAll(op,
                     {grad.dy(0), grad.x(0), grad.x(1), grad.y(1), grad.y(2)},
                     grad.attributes());
}

// Flops per element: 1 for the mean, 3 for the variance, 4 to normalise.
OpCost NormCost(const OpContext& node) {
  return {.flops = 8 * static_cast<double>(node.inputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

// Flops per element: 6 for the sums and 6 for dx.
OpCost NormGradCost(const OpContext& node) {
  return {.flops = 12 * static_cast<double>(node.inputs[1].num_elements()),
          .bytes = TouchedBytes(node)};
}

absl::StatusOr<double> ReadEpsilon(const Attributes& attributes) {
  return GetRealIn(attributes, "epsilon", 1e-5, 0, 1);
}

// What the schemas of both ops share.
OpDef NormDef() {
  return {.inputs = {"x", "scale", "offset"},
          .outputs = {"y", "saved_mean", "saved_inv_std"},
          .cost = NormCost,
          .in_place = {{.input = 0, .output = 0}}};
}

OpDef NormGradDef() {
  return {.inputs = {"dy", "x", "scale", "saved_mean", "saved_inv_std"},
          .outputs = {"dx", "dscale", "doffset"},
          .cost = NormGradCost,
          .in_place = {{.input = 0, .output = 0}, {.input = 1, .output = 0}}};
}

}  // namespace

absl::StatusOr<NormGroups> ReadLayerNorm(const Attributes& attributes,
                                         const TensorType& x,
                                         const TensorType& scale) {
  NormGroups groups;
  SPILLWAY_ASSIGN_OR_RETURN(groups.epsilon, ReadEpsilon(attributes));
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("scale", scale, DType::kFloat32));
  const std::span<const int64_t> dims = x.shape.dims();
  const std::span<const int64_t> last = scale.shape.dims();
  if (last.empty() || last.size() > dims.size() ||
      !std::ranges::equal(last, dims.last(last.size()))) {
    return InvalidArgument(
        fmt::format("scale must have the last dimensions of x; it is {}, and x "
                    "is {}",
                    scale.ToString(), x.ToString()));
  }
  groups.width = scale.num_elements();
  groups.samples = x.num_elements() / groups.width;
  return groups;
}

absl::StatusOr<NormGroups> ReadGroupNorm(const Attributes& attributes,
                                         const TensorType& x,
                                         const TensorType& scale) {
  NormGroups groups;
  SPILLWAY_ASSIGN_OR_RETURN(groups.epsilon, ReadEpsilon(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(groups.groups, attributes.GetInt("groups", 1));
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 2));
  const int64_t channels = x.shape.dim(-1);
  SPILLWAY_RETURN_IF_ERROR(ExpectType(
      "scale", scale, {.dtype = DType::kFloat32, .shape = {channels}},
      "the channels of x"));
  if (groups.groups < 1 || channels % groups.groups != 0) {
    return InvalidArgument(
        fmt::format("attribute 'groups' must divide the {} channels of x; it "
                    "is {}",
                    channels, groups.groups));
  }
  groups.samples = x.shape.dim(0);
  groups.rows = x.num_elements() / (groups.samples * channels);
  groups.width = channels / groups.groups;
  return groups;
}

Op GroupNorm() {
  OpDef def = NormDef();
  def.name = "GroupNorm";
  def.attributes = {"groups", "epsilon"};
  def.infer = InferNorm<ReadGroupNorm, StatisticsOfGroups>;
  def.gradient = [](GradientContext& grad) {
    return NormGradient(grad, "GroupNormGrad");
  };
  return {.def = def, .kernels = {{DeviceKind::kCpu, GroupNormCpu}}};
}

Op GroupNormGrad() {
  OpDef def = NormGradDef();
  def.name = "GroupNormGrad";
  def.attributes = {"groups", "epsilon"};
  def.infer = InferNormGrad<ReadGroupNorm, StatisticsOfGroups>;
  return {.def = def, .kernels = {{DeviceKind::kCpu, GroupNormGradCpu}}};
}

Op LayerNorm() {
  OpDef def = NormDef();
  def.name = "LayerNorm";
  def.attributes = {"epsilon"};
  def.infer = InferNorm<ReadLayerNorm, StatisticsOfLayer>;
  def.gradient = [](GradientContext& grad) {
    return NormGradient(grad, "LayerNormGrad");
  };
  return {.def = def, .kernels = {{DeviceKind::kCpu, LayerNormCpu}}};
}

Op LayerNormGrad() {
  OpDef def = NormGradDef();
  def.name = "LayerNormGrad";
  def.attributes = {"epsilon"};
  def.infer = InferNormGrad<ReadLayerNorm, StatisticsOfLayer>;
  return {.def = def, .kernels = {{DeviceKind::kCpu, LayerNormGradCpu}}};
}

}  // namespace spillway::ops

#include "ops/normalization/lrn.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

const std::vector<std::string> kLrnAttributes = {"depth_radius", "bias",
                                                 "alpha", "beta"};

absl::StatusOr<std::vector<TensorType>> InferLrn(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ReadLrn(node.attributes).status());
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 1));
  return std::vector{x};
}

absl::StatusOr<std::vector<TensorType>> InferLrnGrad(const InferContext& node) {
  const TensorType& x = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ReadLrn(node.attributes).status());
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 1));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", node.inputs[0], x, "x"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> LrnGradient(GradientContext& grad) {
  return std::vector{
      grad.Add("LRNGrad", {grad.dy(0), grad.x(0)}, grad.attributes())};
}

// Channels in a window.
double WindowSize(const OpContext& node) {
  const auto lrn = ReadLrn(node.attributes);
  const int64_t radius = lrn.ok() ? lrn->depth_radius : 0;
  return static_cast<double>(
      std::min(2 * radius + 1, node.inputs[0].shape.dim(-1)));
}

}  // namespace

absl::StatusOr<LrnAttributes> ReadLrn(const Attributes& attributes) {
  LrnAttributes lrn;
  SPILLWAY_ASSIGN_OR_RETURN(
      lrn.depth_radius, attributes.GetInt("depth_radius", lrn.depth_radius));
  if (lrn.depth_radius < 0 || lrn.depth_radius > 1024) {
    return InvalidArgument(
        fmt::format("'depth_radius' must be between 0 and 1024; it is {}",
                    lrn.depth_radius));
  }
  SPILLWAY_ASSIGN_OR_RETURN(lrn.bias,
                            GetRealIn(attributes, "bias", lrn.bias, 0, 1e9));
  SPILLWAY_ASSIGN_OR_RETURN(lrn.alpha,
                            GetRealIn(attributes, "alpha", lrn.alpha, 0, 1e9));
  SPILLWAY_ASSIGN_OR_RETURN(lrn.beta,
                            GetRealIn(attributes, "beta", lrn.beta, 0, 100));
  return lrn;
}

// A power counts as twenty flops.
Op LRN() {
  const auto cost = [](const OpContext& node) {
    return FlopsPerElement(2 * WindowSize(node) + 22)(node);
  };
  return {.def = {.name = "LRN",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = kLrnAttributes,
                  .infer = InferLrn,
                  .gradient = LrnGradient,
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, LrnCpu}}};
}

Op LRNGrad() {
  const auto cost = [](const OpContext& node) {
    return FlopsPerElement(3 * WindowSize(node) + 28)(node);
  };
  return {.def = {.name = "LRNGrad",
                  .inputs = {"dy", "x"},
                  .outputs = {"dx"},
                  .attributes = kLrnAttributes,
                  .infer = InferLrnGrad,
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, LrnGradCpu}}};
}

}  // namespace spillway::ops

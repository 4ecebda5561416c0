#include "ops/collective/all_reduce.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

constexpr int kMostExponent = 30;  // of the wire's scale

// The types of the tensors that come before `weight`.
absl::StatusOr<std::vector<TensorType>> InferReduced(
    const char* name, std::span<const TensorType> tensors,
    const TensorType& weight) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(ExpectDType(fmt::format("{} {}", name, i),
                                         tensors[i], DType::kFloat32));
  }
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("weight", weight, {.shape = {}}, "a number"));
  return std::vector<TensorType>(tensors.begin(), tensors.end());
}

absl::StatusOr<std::vector<TensorType>> InferAllReduce(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ReadWireAttributes(node.attributes).status());
  return InferReduced("x", node.inputs.first(node.inputs.size() - 1),
                      node.inputs.back());
}

absl::StatusOr<std::vector<TensorType>> InferAllReduceInTurn(
    const InferContext& node) {
  const size_t weight = node.inputs.size() - 2;
  SPILLWAY_RETURN_IF_ERROR(ExpectType("turn", node.inputs.back(),
                                      {.dtype = DType::kInt32, .shape = {}},
                                      "an integer"));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t turn,
                            node.attributes.GetInt("own_turn"));
  if (turn < 0 || turn > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument(fmt::format(
        "attribute 'own_turn' must be an int32 from 0 on; it is {}", turn));
  }
  return InferReduced("variable", node.inputs.first(weight),
                      node.inputs[weight]);
}

OpCost AllReduceCost(const OpContext& node) {
  OpCost cost = {.bytes = TouchedBytes(node)};
  for (const TensorType& output : node.outputs) {
    cost.flops += static_cast<double>(output.num_elements());
  }
  return cost;
}

}  // namespace

absl::StatusOr<WireAttributes> ReadWireAttributes(
    const Attributes& attributes) {
  WireAttributes wire;
  if (attributes.contains("wire")) {
    SPILLWAY_ASSIGN_OR_RETURN(wire.dtype, attributes.GetDType("wire"));
  }
  if (!IsFloating(wire.dtype)) {
    return InvalidArgument(
        fmt::format("attribute 'wire' must be float32, float16 or bfloat16; it "
                    "is {}",
                    DTypeName(wire.dtype)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const double scale,
                            attributes.GetReal("wire_scale", 1));
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5 ||
      std::abs(exponent - 1) > kMostExponent) {
    return InvalidArgument(
        fmt::format("attribute 'wire_scale' must be a power of two from 2^-{0} "
                    "to 2^{0}; it is {1}",
                    kMostExponent, scale));
  }
  wire.scale = static_cast<float>(scale);
  SPILLWAY_ASSIGN_OR_RETURN(const double clip, attributes.GetReal("clip", 0));
  wire.clip = static_cast<float>(clip);
  if (!(wire.clip >= 0) || !std::isfinite(wire.clip)) {
    return InvalidArgument(fmt::format(
        "attribute 'clip' must be a float32 from 0 on; it is {}", clip));
  }
  return wire;
}

Op AllReduce() {
  return {.def = {.name = std::string(kAllReduce),
                  .inputs = {"x", "weight"},
                  .outputs = {"y"},
                  .group_inputs = 1,
                  .attributes = {"wire", "wire_scale", "clip"},
                  .infer = InferAllReduce,
                  .cost = AllReduceCost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_together = true,
                  .recompute = RecomputeRule::kNever},
          .kernels = {{DeviceKind::kCpu, AllReduceCpu}}};
}

Op AllReduceInTurn() {
  return {.def = {.name = std::string(kAllReduceInTurn),
                  .inputs = {"variable", "weight", "turn"},
                  .outputs = {"updated"},
                  .group_inputs = 1,
                  .attributes = {"own_turn"},
                  .infer = InferAllReduceInTurn,
                  .cost = AllReduceCost,
                  .alias = {{.input = 0, .output = 0}},
                  .mutates = {0},
                  .recompute = RecomputeRule::kNever},
          .kernels = {{DeviceKind::kCpu, AllReduceInTurnCpu}}};
}

}  // namespace spillway::ops

#include "ops/collective/all_reduce.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

constexpr int kMostExponent = 30;  // of the wire's scale

absl::StatusOr<std::vector<TensorType>> InferAllReduce(
    const InferContext& node) {
  std::vector<TensorType> outputs(node.inputs.begin(), node.inputs.end() - 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        ExpectDType(fmt::format("x {}", i), outputs[i], DType::kFloat32));
  }
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("weight", node.inputs.back(), {.shape = {}}, "a number"));
  SPILLWAY_RETURN_IF_ERROR(ReadWireAttributes(node.attributes).status());
  return outputs;
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

}  // namespace spillway::ops

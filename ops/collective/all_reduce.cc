#include "ops/collective/all_reduce.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferAllReduce(
    const InferContext& node) {
  std::vector<TensorType> outputs(node.inputs.begin(), node.inputs.end() - 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        ExpectDType(fmt::format("x {}", i), outputs[i], DType::kFloat32));
  }
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("weight", node.inputs.back(), {.shape = {}}, "a number"));
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

Op AllReduce() {
  return {.def = {.name = std::string(kAllReduce),
                  .inputs = {"x", "weight"},
                  .outputs = {"y"},
                  .group_inputs = 1,
                  .infer = InferAllReduce,
                  .cost = AllReduceCost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_together = true,
                  .recompute = RecomputeRule::kNever},
          .kernels = {{DeviceKind::kCpu, AllReduceCpu}}};
}

}  // namespace spillway::ops

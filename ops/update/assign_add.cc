#include "ops/update/assign_add.h"

#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferAssignAdd(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(
      ExpectDType("variable", node.inputs[0], DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("x", node.inputs[1], node.inputs[0], "variable"));
  return std::vector{node.inputs[0]};
}

}  // namespace

Op AssignAdd() {
  return {.def = {.name = "AssignAdd",
                  .inputs = {"variable", "x"},
                  .outputs = {"updated"},
                  .infer = InferAssignAdd,
                  .cost = ElementwiseCost,
                  .alias = {{.input = 0, .output = 0}},
                  .mutates = {0}},
          .kernels = {{DeviceKind::kCpu, AssignAddCpu}}};
}

}  // namespace spillway::ops

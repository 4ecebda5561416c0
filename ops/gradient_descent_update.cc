#include "ops/gradient_descent_update.h"

#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyGradientDescent() {
  OpDef def = UpdateDef("ApplyGradientDescent", {});
  def.attributes = {"weight_decay"};
  def.infer =
      [inputs = def.inputs](
          const InferContext& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(node.attributes.GetReal("weight_decay", 0).status());
    return InferUpdate(node, inputs);
  };
  def.cost = FlopsPerElement(4);
  return {.def = def, .kernels = {{DeviceKind::kCpu, ApplyGradientDescentCpu}}};
}

}  // namespace spillway::ops

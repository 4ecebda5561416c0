#include "ops/momentum_update.h"

#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyMomentum() {
  OpDef def = UpdateDef("ApplyMomentum", {"accumulator"});
  def.attributes = {"momentum", "use_nesterov", "weight_decay"};
  def.infer =
      [inputs = def.inputs](
          const InferContext& node) -> absl::StatusOr<std::vector<TensorType>> {
    const Attributes& attributes = node.attributes;
    RETURN_IF_ERROR(GetRealIn(attributes, "momentum", 0.9, 0, 1).status());
    RETURN_IF_ERROR(attributes.GetBool("use_nesterov", false).status());
    RETURN_IF_ERROR(attributes.GetReal("weight_decay", 0).status());
    return InferUpdate(node, inputs);
  };
  def.cost = FlopsPerElement(6);
  return {.def = def, .kernels = {{DeviceKind::kCpu, ApplyMomentumCpu}}};
}

}  // namespace spillway::ops

#include "ops/rms_prop_update.h"

#include <limits>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyRMSProp() {
  OpDef def = UpdateDef("ApplyRMSProp", {"mean_square", "accumulator"});
  def.attributes = {"decay", "momentum", "epsilon", "weight_decay"};
  def.infer =
      [inputs = def.inputs](
          const InferContext& node) -> absl::StatusOr<std::vector<TensorType>> {
    constexpr double kMost = std::numeric_limits<float>::max();
    const Attributes& attributes = node.attributes;
    RETURN_IF_ERROR(GetRealIn(attributes, "decay", 0.9, 0, 1).status());
    RETURN_IF_ERROR(GetRealIn(attributes, "momentum", 0, 0, 1).status());
    RETURN_IF_ERROR(GetRealIn(attributes, "epsilon", 1e-10, 0, kMost).status());
    RETURN_IF_ERROR(attributes.GetReal("weight_decay", 0).status());
    return InferUpdate(node, inputs);
  };
  def.cost = FlopsPerElement(12);
  return {.def = def, .kernels = {{DeviceKind::kCpu, ApplyRMSPropCpu}}};
}

}  // namespace spillway::ops

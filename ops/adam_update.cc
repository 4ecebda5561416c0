#include "ops/adam_update.h"

#include <limits>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyAdam() {
  OpDef def = UpdateDef("ApplyAdam", {"m", "v", "beta_power"});
  def.attributes = {"beta1", "beta2", "epsilon", "weight_decay"};
  def.infer =
      [inputs = def.inputs](
          const InferContext& node) -> absl::StatusOr<std::vector<TensorType>> {
    constexpr double kMost = std::numeric_limits<float>::max();
    const Attributes& attributes = node.attributes;
    RETURN_IF_ERROR(GetRealIn(attributes, "beta1", 0.9, 0, 1).status());
    RETURN_IF_ERROR(GetRealIn(attributes, "beta2", 0.999, 0, 1).status());
    RETURN_IF_ERROR(GetRealIn(attributes, "epsilon", 1e-8, 0, kMost).status());
    RETURN_IF_ERROR(attributes.GetReal("weight_decay", 0).status());
    return InferUpdate(node, inputs);
  };
  def.cost = FlopsPerElement(14);
  return {.def = def, .kernels = {{DeviceKind::kCpu, ApplyAdamCpu}}};
}

}  // namespace spillway::ops

#include "ops/update/accumulate_gradient.h"

#include "ops/common/update.h"

namespace spillway::ops {

Op AccumulateGradient() {
  return {.def = UpdateDef({.name = "AccumulateGradient",
                            .flops_per_element = 2,
                            .shared = "weights",
                            .shared_shape = {2},
                            .has_gradient_rule = false}),
          .kernels = {{DeviceKind::kCpu, AccumulateGradientCpu}}};
}

}  // namespace spillway::ops

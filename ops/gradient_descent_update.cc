#include "ops/gradient_descent_update.h"

#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyGradientDescent() {
  return {.def = UpdateDef(
              {.name = "ApplyGradientDescent", .flops_per_element = 4}),
          .kernels = {{DeviceKind::kCpu, ApplyGradientDescentCpu}}};
}

}  // namespace spillway::ops

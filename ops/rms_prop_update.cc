#include "ops/rms_prop_update.h"

#include <limits>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {
namespace {

absl::Status Check(const Attributes& attributes) {
  constexpr double kMost = std::numeric_limits<float>::max();
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "decay", 0.9, 0, 1).status());
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "momentum", 0, 0, 1).status());
  return GetRealIn(attributes, "epsilon", 1e-10, 0, kMost).status();
}

}  // namespace

Op ApplyRMSProp() {
  return {.def = UpdateDef({.name = "ApplyRMSProp",
                            .slots = {"mean_square", "accumulator"},
                            .attributes = {"decay", "momentum", "epsilon"},
                            .check = Check,
                            .flops_per_element = 12}),
          .kernels = {{DeviceKind::kCpu, ApplyRMSPropCpu}}};
}

}  // namespace spillway::ops

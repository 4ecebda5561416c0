#include "ops/adam_update.h"

#include <limits>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {
namespace {

absl::Status Check(const Attributes& attributes) {
  constexpr double kMost = std::numeric_limits<float>::max();
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "beta1", 0.9, 0, 1).status());
  SPILLWAY_RETURN_IF_ERROR(
      GetRealIn(attributes, "beta2", 0.999, 0, 1).status());
  return GetRealIn(attributes, "epsilon", 1e-8, 0, kMost).status();
}

}  // namespace

Op ApplyAdam() {
  return {.def = UpdateDef({.name = "ApplyAdam",
                            .slots = {"m", "v", "beta_power"},
                            .attributes = {"beta1", "beta2", "epsilon"},
                            .check = Check,
                            .flops_per_element = 14}),
          .kernels = {{DeviceKind::kCpu, ApplyAdamCpu}}};
}

}  // namespace spillway::ops

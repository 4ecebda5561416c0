#include "ops/momentum_update.h"

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {
namespace {

absl::Status Check(const Attributes& attributes) {
  SPILLWAY_RETURN_IF_ERROR(
      GetRealIn(attributes, "momentum", 0.9, 0, 1).status());
  return attributes.GetBool("use_nesterov", false).status();
}

}  // namespace

Op ApplyMomentum() {
  return {.def = UpdateDef({.name = "ApplyMomentum",
                            .slots = {"accumulator"},
                            .attributes = {"momentum", "use_nesterov"},
                            .check = Check,
                            .flops_per_element = 6}),
          .kernels = {{DeviceKind::kCpu, ApplyMomentumCpu}}};
}

}  // namespace spillway::ops

#include "ops/array/identity.h"

#include <vector>

#include "graph/builder/gradient.h"
#include "ops/common/cost.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferIdentity(
    const InferContext& node) {
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> IdentityGradient(GradientContext& grad) {
  return std::vector{grad.dy(0)};
}

}  // namespace

Op Identity() {
  return {.def = {.name = "Identity",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .infer = InferIdentity,
                  .gradient = IdentityGradient,
                  .cost = NoCost,
                  .alias = {{.input = 0, .output = 0}}}};
}

}  // namespace spillway::ops

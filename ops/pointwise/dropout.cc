#include "ops/pointwise/dropout.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferDropout(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(ReadDropout(node.attributes).status());
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> DropoutGradient(GradientContext& grad) {
  return std::vector{grad.Add("DropoutGrad", {grad.dy(0)}, grad.attributes())};
}

}  // namespace

// The generator's integer work is not counted.
Op Dropout() {
  return {.def = {.name = "Dropout",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"rate", "seed"},
                  .infer = InferDropout,
                  .gradient = DropoutGradient,
                  .cost = FlopsPerElement(2),
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, DropoutCpu}}};
}

Op DropoutGrad() {
  Op op = Dropout();
  op.def.name = "DropoutGrad";
  op.def.inputs = {"dy"};
  op.def.outputs = {"dx"};
  return op;
}

absl::StatusOr<DropoutAttributes> ReadDropout(const Attributes& attributes) {
  SPILLWAY_RETURN_IF_ERROR(attributes.GetReal("rate").status());
  SPILLWAY_ASSIGN_OR_RETURN(const double rate,
                            GetRealIn(attributes, "rate", 0, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t seed, attributes.GetInt("seed", 0));
  return DropoutAttributes{.rate = rate, .seed = seed};
}

}  // namespace spillway::ops

#include "ops/pointwise/cast.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferCast(const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype,
                            node.attributes.GetDType("dtype"));
  return std::vector{TensorType{.dtype = dtype, .shape = node.inputs[0].shape}};
}

absl::StatusOr<std::vector<Tensor>> CastGradient(GradientContext& grad) {
  const DType dtype = grad.x(0).type().dtype;
  if (!IsFloating(dtype)) return std::vector{Tensor()};
  return std::vector{grad.Add("Cast", {grad.dy(0)}, {{"dtype", dtype}})};
}

}  // namespace

Op Cast() {
  return {.def = {.name = "Cast",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"dtype"},
                  .infer = InferCast,
                  .gradient = CastGradient},
          .kernels = {{DeviceKind::kCpu, CastCpu}}};
}

}  // namespace spillway::ops

#include "ops/choice/select.h"

#include <array>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/broadcast_dims.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/gradients.h"
#include "ops/common/sum_to.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferSelect(const InferContext& node) {
  const TensorType& condition = node.inputs[0];
  const TensorType& a = node.inputs[1];
  const TensorType& b = node.inputs[2];
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("condition", condition, DType::kBool));
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("b", b, a.dtype));
  const std::array<Shape, 3> shapes = {condition.shape, a.shape, b.shape};
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(shapes));
  return std::vector{TensorType{.dtype = a.dtype, .shape = shape}};
}

// Each element of dy goes to the operand that it came from.
absl::StatusOr<std::vector<Tensor>> SelectGradient(GradientContext& grad) {
  if (!IsFloating(grad.x(1).dtype())) return std::vector<Tensor>(3);
  const Tensor condition = grad.x(0);
  const Tensor dy = grad.dy(0);
  const Tensor zero = Number(0, dy, grad);
  const Tensor da = grad.Add("Select", {condition, dy, zero});
  const Tensor db = grad.Add("Select", {condition, zero, dy});
  return std::vector{Tensor(), SumTo(grad.x(1).type(), da, grad),
                     SumTo(grad.x(2).type(), db, grad)};
}

OpCost SelectCost(const OpContext& node) {
  return {.flops = static_cast<double>(node.outputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

}  // namespace

Op Select() {
  return {.def = {.name = "Select",
                  .inputs = {"condition", "a", "b"},
                  .outputs = {"y"},
                  .infer = InferSelect,
                  .gradient = SelectGradient,
                  .cost = SelectCost,
                  .in_place = {{.input = 1, .output = 0},
                               {.input = 2, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, SelectCpu}}};
}

}  // namespace spillway::ops

#include "ops/choice/compare.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/broadcast_dims.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;

absl::StatusOr<Types> InferTest(const InferContext& node) {
  const TensorType& a = node.inputs[0];
  const TensorType& b = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("b", b, a.dtype));
  const std::array<Shape, 2> shapes = {a.shape, b.shape};
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(shapes));
  return Types{{.dtype = DType::kBool, .shape = shape}};
}

absl::StatusOr<Types> InferOrder(const InferContext& node) {
  if (node.inputs[0].dtype == DType::kBool) {
    return InvalidArgument(fmt::format("a must be of numbers; it is {}",
                                       node.inputs[0].ToString()));
  }
  return InferTest(node);
}

absl::StatusOr<Types> InferLogical(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("a", node.inputs[0], DType::kBool));
  return InferTest(node);
}

OpCost TestCost(const OpContext& node) {
  return {.flops = static_cast<double>(node.outputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

using TestInfer = absl::StatusOr<Types> (*)(const InferContext&);

Op TestOp(std::string name, TestInfer infer, KernelFactory cpu) {
  return {.def = {.name = std::move(name),
                  .inputs = {"a", "b"},
                  .outputs = {"y"},
                  .infer = infer,
                  .cost = TestCost},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

}  // namespace

Op Equal() { return TestOp("Equal", InferTest, EqualCpu); }
Op Less() { return TestOp("Less", InferOrder, LessCpu); }
Op LessEqual() { return TestOp("LessEqual", InferOrder, LessEqualCpu); }
Op LogicalAnd() { return TestOp("LogicalAnd", InferLogical, LogicalAndCpu); }
Op LogicalOr() { return TestOp("LogicalOr", InferLogical, LogicalOrCpu); }
Op LogicalXor() { return TestOp("LogicalXor", InferLogical, LogicalXorCpu); }

}  // namespace spillway::ops

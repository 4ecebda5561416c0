#include "ops/avg_pool.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/expect.h"
#include "ops/common/pool.h"

namespace spillway::ops {
namespace {

std::vector<std::string> AttributeNames(std::vector<std::string> more) {
  more.insert(more.end(), kPoolAttributes.begin(), kPoolAttributes.end());
  more.emplace_back("count_include_pad");
  return more;
}

absl::StatusOr<TensorType> Output(const Attributes& attributes,
                                  const TensorType& x) {
  RETURN_IF_ERROR(attributes.GetBool("count_include_pad", false).status());
  return PoolOutput(attributes, x);
}

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  ASSIGN_OR_RETURN(const TensorType y, Output(node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferGrad(const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  RETURN_IF_ERROR(ExpectFloating("dy", dy));
  ASSIGN_OR_RETURN(const Shape shape, node.attributes.GetShape("input_shape"));
  RETURN_IF_ERROR(Annotate(CheckShape(shape), "'input_shape'"));
  const TensorType x = {.dtype = dy.dtype, .shape = shape};
  ASSIGN_OR_RETURN(const TensorType y, Output(node.attributes, x));
  RETURN_IF_ERROR(ExpectType("dy", dy, y, "the pool's output"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{
      grad.Add("AvgPoolGrad", {grad.dy(0)}, std::move(attributes))};
}

}  // namespace

Op AvgPool() {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "AvgPool",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = AttributeNames({}),
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolCpu}}};
}

Op AvgPoolGrad() {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[0].shape);
  };
  return {.def = {.name = "AvgPoolGrad",
                  .inputs = {"dy"},
                  .outputs = {"dx"},
                  .attributes = AttributeNames({"input_shape"}),
                  .infer = InferGrad,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolGradCpu}}};
}

}  // namespace spillway::ops

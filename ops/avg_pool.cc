#include "ops/avg_pool.h"

#include <functional>
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

absl::StatusOr<TensorType> Output(int spatial, const Attributes& attributes,
                                  const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(
      attributes.GetBool("count_include_pad", false).status());
  return PoolOutput(spatial, attributes, x);
}

absl::StatusOr<std::vector<TensorType>> Infer(int spatial,
                                              const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType y,
                            Output(spatial, node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferGrad(int spatial,
                                                  const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            node.attributes.GetShape("input_shape"));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(shape), "'input_shape'"));
  const TensorType x = {.dtype = dy.dtype, .shape = shape};
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType y,
                            Output(spatial, node.attributes, x));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", dy, y, "the pool's output"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> Gradient(int spatial,
                                             GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{grad.Add("AvgPool" + PoolSuffix(spatial) + "Grad",
                              {grad.dy(0)}, std::move(attributes))};
}

Op Forward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = AttributeNames({}),
                  .infer = std::bind_front(Infer, spatial),
                  .gradient = std::bind_front(Gradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolCpu}}};
}

Op Backward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"dy"},
                  .outputs = {"dx"},
                  .attributes = AttributeNames({"input_shape"}),
                  .infer = std::bind_front(InferGrad, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolGradCpu}}};
}

}  // namespace

Op AvgPool() { return Forward(2); }
Op AvgPool3D() { return Forward(3); }
Op AvgPool3DGrad() { return Backward(3); }
Op AvgPoolGrad() { return Backward(2); }

}  // namespace spillway::ops

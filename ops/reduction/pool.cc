#include "ops/reduction/pool.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/pool.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferMax(int spatial,
                                                 const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, PoolOutput(spatial, node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferMaxGrad(int spatial,
                                                     const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, PoolOutput(spatial, node.attributes, node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("dy", node.inputs[1], y, "the pool's output"));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> MaxGradient(int spatial,
                                                GradientContext& grad) {
  return std::vector{grad.Add("MaxPool" + PoolSuffix(spatial) + "Grad",
                              {grad.x(0), grad.dy(0)}, grad.attributes())};
}

// A window may overwrite its part of x if no other window reads that part.
bool WindowsAreDisjoint(const OpContext& node) {
  const auto window = ReadPoolWindow(node.attributes, node.inputs[0].shape);
  if (!window.ok()) return false;
  for (const WindowDim& dim : *window) {
    if (dim.stride < dim.size) return false;
  }
  return true;
}

Op MaxForward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = kPoolAttributes,
                  .infer = std::bind_front(InferMax, spatial),
                  .gradient = std::bind_front(MaxGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, MaxPoolCpu}}};
}

Op MaxBackward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[1].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"x", "dy"},
                  .outputs = {"dx"},
                  .attributes = kPoolAttributes,
                  .infer = std::bind_front(InferMaxGrad, spatial),
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_legal = WindowsAreDisjoint},
          .kernels = {{DeviceKind::kCpu, MaxPoolGradCpu}}};
}

}  // namespace

Op MaxPool() { return MaxForward(2); }
Op MaxPool3D() { return MaxForward(3); }
Op MaxPool3DGrad() { return MaxBackward(3); }
Op MaxPoolGrad() { return MaxBackward(2); }

namespace {

std::vector<std::string> AvgAttributeNames(std::vector<std::string> more) {
  more.insert(more.end(), kPoolAttributes.begin(), kPoolAttributes.end());
  more.emplace_back("count_include_pad");
  return more;
}

absl::StatusOr<TensorType> AvgOutput(int spatial, const Attributes& attributes,
                                     const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(
      attributes.GetBool("count_include_pad", false).status());
  return PoolOutput(spatial, attributes, x);
}

absl::StatusOr<std::vector<TensorType>> InferAvg(int spatial,
                                                 const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, AvgOutput(spatial, node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferAvgGrad(int spatial,
                                                     const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            node.attributes.GetShape("input_shape"));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(shape), "'input_shape'"));
  const TensorType x = {.dtype = dy.dtype, .shape = shape};
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType y,
                            AvgOutput(spatial, node.attributes, x));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", dy, y, "the pool's output"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> AvgGradient(int spatial,
                                                GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{grad.Add("AvgPool" + PoolSuffix(spatial) + "Grad",
                              {grad.dy(0)}, std::move(attributes))};
}

Op AvgForward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = AvgAttributeNames({}),
                  .infer = std::bind_front(InferAvg, spatial),
                  .gradient = std::bind_front(AvgGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolCpu}}};
}

Op AvgBackward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"dy"},
                  .outputs = {"dx"},
                  .attributes = AvgAttributeNames({"input_shape"}),
                  .infer = std::bind_front(InferAvgGrad, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolGradCpu}}};
}

}  // namespace

Op AvgPool() { return AvgForward(2); }
Op AvgPool3D() { return AvgForward(3); }
Op AvgPool3DGrad() { return AvgBackward(3); }
Op AvgPoolGrad() { return AvgBackward(2); }

}  // namespace spillway::ops

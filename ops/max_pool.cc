#include "ops/max_pool.h"

#include <functional>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/pool.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(int spatial,
                                              const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, PoolOutput(spatial, node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferGrad(int spatial,
                                                  const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, PoolOutput(spatial, node.attributes, node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("dy", node.inputs[1], y, "the pool's output"));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> Gradient(int spatial,
                                             GradientContext& grad) {
  return std::vector{grad.Add("MaxPool" + PoolSuffix(spatial) + "Grad",
                              {grad.x(0), grad.dy(0)}, grad.attributes())};
}

// A window may overwrite its part of x when no other window reads that part.
bool WindowsAreDisjoint(const OpContext& node) {
  const auto window = ReadPoolWindow(node.attributes, node.inputs[0].shape);
  if (!window.ok()) return false;
  for (const WindowDim& dim : *window) {
    if (dim.stride < dim.size) return false;
  }
  return true;
}

Op Forward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = kPoolAttributes,
                  .infer = std::bind_front(Infer, spatial),
                  .gradient = std::bind_front(Gradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, MaxPoolCpu}}};
}

Op Backward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[1].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"x", "dy"},
                  .outputs = {"dx"},
                  .attributes = kPoolAttributes,
                  .infer = std::bind_front(InferGrad, spatial),
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_legal = WindowsAreDisjoint},
          .kernels = {{DeviceKind::kCpu, MaxPoolGradCpu}}};
}

}  // namespace

Op MaxPool() { return Forward(2); }
Op MaxPool3D() { return Forward(3); }
Op MaxPool3DGrad() { return Backward(3); }
Op MaxPoolGrad() { return Backward(2); }

}  // namespace spillway::ops

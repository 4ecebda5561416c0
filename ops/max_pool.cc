#include "ops/max_pool.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/pool.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  ASSIGN_OR_RETURN(const TensorType y,
                   PoolOutput(node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferGrad(const InferContext& node) {
  ASSIGN_OR_RETURN(const TensorType y,
                   PoolOutput(node.attributes, node.inputs[0]));
  RETURN_IF_ERROR(ExpectType("dy", node.inputs[1], y, "the pool's output"));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  return std::vector{
      grad.Add("MaxPoolGrad", {grad.x(0), grad.dy(0)}, grad.attributes())};
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

}  // namespace

Op MaxPool() {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "MaxPool",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = kPoolAttributes,
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, MaxPoolCpu}}};
}

Op MaxPoolGrad() {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[1].shape);
  };
  return {.def = {.name = "MaxPoolGrad",
                  .inputs = {"x", "dy"},
                  .outputs = {"dx"},
                  .attributes = kPoolAttributes,
                  .infer = InferGrad,
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_legal = WindowsAreDisjoint},
          .kernels = {{DeviceKind::kCpu, MaxPoolGradCpu}}};
}

}  // namespace spillway::ops

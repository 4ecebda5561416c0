#include "ops/pointwise/add_n.h"

#include <fmt/format.h>

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferAddN(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x1", node.inputs[0]));
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(ExpectType(fmt::format("x{}", i + 1),
                                        node.inputs[i], node.inputs[0], "x1"));
  }
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> AddNGradient(GradientContext& grad) {
  return std::vector(static_cast<size_t>(grad.num_inputs()), grad.dy(0));
}

OpCost AddNCost(const OpContext& node) {
  const auto additions = static_cast<double>(node.inputs.size() - 1);
  return FlopsPerElement(additions)(node);
}

}  // namespace

Op AddN() {
  return {.def = {.name = "AddN",
                  .inputs = {"x"},
                  .outputs = {"sum"},
                  .variadic = true,
                  .infer = InferAddN,
                  .gradient = AddNGradient,
                  .cost = AddNCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0},
                               {.input = 2, .output = 0},
                               {.input = 3, .output = 0}},
                  .part_inputs = {0}},
          .kernels = {{DeviceKind::kCpu, AddNCpu}}};
}

}  // namespace spillway::ops

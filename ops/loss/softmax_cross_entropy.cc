#include "ops/loss/softmax_cross_entropy.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferSoftmaxCrossEntropy(
    const InferContext& node) {
  const TensorType& logits = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("logits", logits));
  SPILLWAY_RETURN_IF_ERROR(ExpectRank("logits", logits, 2));
  const Shape rows = {logits.shape.dim(0)};
  SPILLWAY_RETURN_IF_ERROR(ExpectType("labels", node.inputs[1],
                                      {.dtype = DType::kInt32, .shape = rows},
                                      "the rows of logits"));
  return std::vector{TensorType{.dtype = DType::kFloat32, .shape = rows},
                     logits};
}

int64_t NumClasses(const InferContext& node) {
  return node.inputs[0].shape.dim(1);
}

absl::StatusOr<std::vector<Tensor>> SoftmaxCrossEntropyGradient(
    GradientContext& grad) {
  if (!grad.dy(0).is_valid()) return std::vector{Tensor(), Tensor()};
  return std::vector{grad.Add("ScaleRows", {grad.y(1), grad.dy(0)}), Tensor()};
}

}  // namespace

Op SparseSoftmaxCrossEntropyWithLogits() {
  return {
      .def = {.name = "SparseSoftmaxCrossEntropyWithLogits",
              .inputs = {"logits", "labels"},
              .outputs = {"loss", "backprop"},
              .infer = InferSoftmaxCrossEntropy,
              .gradient = SoftmaxCrossEntropyGradient,
              .cost = FlopsPerElement(14),
              .in_place = {{.input = 0, .output = 1}},
              .index_inputs = {{.input = 1, .limit = NumClasses}}},
      .kernels = {{DeviceKind::kCpu, SparseSoftmaxCrossEntropyWithLogitsCpu}}};
}

}  // namespace spillway::ops

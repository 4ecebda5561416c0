// Losses that are nodes of the model: SoftmaxCrossEntropyLoss and
// NegativeLogLikelihoodLoss.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/op_family/classes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

enum class LossReduction : uint8_t { kMean, kSum, kNone };

absl::StatusOr<LossReduction> ReadLossReduction(const NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t choice,
      node.node().Choice("reduction", {"mean", "sum", "none"}));
  return static_cast<LossReduction>(choice);
}

// Labels [N, d...] of scores [N, C, d...].
absl::Status CheckLabels(const NodeConversion& node) {
  Sizes expected = node.dims(0);
  if (expected.size() < 2) {
    return InvalidArgument("an input of fewer than 2 dimensions");
  }
  expected.erase(expected.begin() + 1);
  SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(node.dims(0)[1]));
  if (node.dims(1) != expected || !IsInteger(node.type(1))) {
    return InvalidArgument(fmt::format(
        "its labels are {} {}; its scores {}", ElementTypeName(node.type(1)),
        Shape(node.dims(1)).ToString(), Shape(node.dims(0)).ToString()));
  }
  if (node.has(2) && node.dims(2) != Sizes{node.dims(0)[1]}) {
    return InvalidArgument(fmt::format("its weights are {}; its scores {}",
                                       Shape(node.dims(2)).ToString(),
                                       Shape(node.dims(0)).ToString()));
  }
  return absl::OkStatus();
}

// Labels, of which those that are ignored are replaced by class 0.
struct Labels {
  Tensor safe = {};
  Tensor is_ignored = {};  // not valid: none is
};

absl::StatusOr<Labels> ReadLabels(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor labels,
                            node.InputInOrder(1, Identity(node.rank(1))));
  if (!labels.is_valid() || !node.node().has("ignore_index")) {
    return Labels{.safe = labels};
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t ignored,
                            node.node().Int("ignore_index", 0));
  const Tensor is_ignored = node.Helper(
      "Equal", {labels, node.Number(static_cast<double>(ignored), labels)});
  return Labels{.safe = node.Helper(
                    "Select", {is_ignored, node.Number(0, labels), labels}),
                .is_ignored = is_ignored};
}

struct ClassLoss {
  Tensor loss = {};     // of each label, times its weight
  Tensor weights = {};  // not valid: all 1
};

absl::StatusOr<ClassLoss> Weighted(NodeConversion& node, Tensor loss,
                                   const Labels& labels) {
  ClassLoss result = {.loss = loss};
  if (node.has(2)) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const Tensor of_classes,
        node.WeightInOrder(2, Identity(1), WeightRole::kFixed));
    result.weights = node.Helper("Gather", {of_classes, labels.safe});
  }
  if (labels.is_ignored.is_valid()) {
    const Tensor weights =
        result.weights.is_valid() ? result.weights : node.Number(1, loss);
    result.weights = node.Helper(
        "Select", {labels.is_ignored, node.Number(0, loss), weights});
  }
  if (result.weights.is_valid()) {
    result.loss = node.Helper("Mul", {loss, result.weights});
  }
  return result;
}

// -score of each label.
Tensor OfLabels(NodeConversion& node, Tensor scores, Tensor labels) {
  const Tensor is_label = IsClass(node, labels, scores.shape().dim(-1));
  const Tensor chosen =
      node.Helper("Select", {is_label, scores, node.Number(0, scores)});
  const Tensor score = node.Helper("Sum", {chosen}, {{"axes", Sizes{-1}}});
  return node.Helper("Mul", {score, node.Number(-1, scores)});
}

// The same of a softmax's logarithm, as one op, which checks labels.
Tensor CrossEntropies(NodeConversion& node, Tensor scores, Tensor labels) {
  const Shape shape = labels.shape();
  const int64_t rows = shape.num_elements();
  const Tensor logits = node.Helper(
      "Reshape", {scores}, {{"shape", Shape({rows, scores.shape().dim(-1)})}});
  Tensor flat = node.Helper("Reshape", {labels}, {{"shape", Shape({rows})}});
  if (flat.is_valid() && flat.dtype() != DType::kInt32) {
    flat = node.Helper("Cast", {flat}, {{"dtype", DType::kInt32}});
  }
  const Tensor losses =
      node.Add("SparseSoftmaxCrossEntropyWithLogits", {logits, flat});
  return node.Helper("Reshape", {losses}, {{"shape", shape}});
}

Tensor SumAll(NodeConversion& node, Tensor x, const char* op = "Sum") {
  Sizes axes;
  for (const int axis : Identity(x.shape().rank())) axes.push_back(axis);
  return node.Helper(op, {x}, {{"axes", axes}});
}

Tensor ReducedLoss(NodeConversion& node, const ClassLoss& loss,
                   LossReduction reduction) {
  if (!loss.loss.is_valid() || reduction == LossReduction::kNone) {
    return loss.loss;
  }
  if (reduction == LossReduction::kSum) return SumAll(node, loss.loss);
  if (!loss.weights.is_valid()) return SumAll(node, loss.loss, "Mean");
  return node.Helper("RealDiv",
                     {SumAll(node, loss.loss), SumAll(node, loss.weights)});
}

// Scores with the classes last, float32.
absl::StatusOr<Tensor> ScoresOf(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor scores,
                            node.InputInOrder(0, ChannelsLast(node.rank(0))));
  if (!scores.is_valid() || scores.dtype() == DType::kFloat32) return scores;
  return node.Helper("Cast", {scores}, {{"dtype", DType::kFloat32}});
}

absl::Status ConvertClassLoss(NodeConversion& node, bool has_softmax) {
  SPILLWAY_ASSIGN_OR_RETURN(const LossReduction reduction,
                            ReadLossReduction(node));
  SPILLWAY_RETURN_IF_ERROR(CheckLabels(node));
  SPILLWAY_ASSIGN_OR_RETURN(Tensor scores, ScoresOf(node));
  SPILLWAY_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node));
  if (!scores.is_valid() || !labels.safe.is_valid()) return absl::OkStatus();
  if (has_softmax && node.node().has_output(1)) {
    scores = LogSoftmax(node, scores);
    if (!scores.is_valid()) return absl::OkStatus();
    node.Set(1, InOrder(scores, ChannelsLast(node.rank(0))));
    has_softmax = false;
  }
  const Tensor losses = has_softmax ? CrossEntropies(node, scores, labels.safe)
                                    : OfLabels(node, scores, labels.safe);
  if (!losses.is_valid()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const ClassLoss loss,
                            Weighted(node, losses, labels));
  const Tensor y = ReducedLoss(node, loss, reduction);
  if (y.is_valid()) node.Set(0, AsIs(y));
  return absl::OkStatus();
}

absl::Status ConvertNegativeLogLikelihood(NodeConversion& node) {
  return ConvertClassLoss(node, /*has_softmax=*/false);
}
absl::Status ConvertSoftmaxCrossEntropy(NodeConversion& node) {
  return ConvertClassLoss(node, /*has_softmax=*/true);
}

constexpr std::array<OpEntry, 2> kLossOps = {{
    {"NegativeLogLikelihoodLoss", 2, 3, ConvertNegativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", 2, 3, ConvertSoftmaxCrossEntropy},
}};

}  // namespace

std::span<const OpEntry> LossOps() { return kLossOps; }

}  // namespace spillway::onnx_model

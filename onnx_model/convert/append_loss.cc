#include "onnx_model/convert/append_loss.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "models/layers/layers.h"

namespace spillway::onnx_model {
namespace {

constexpr const char* kScope = "loss";

// The output, as the graph holds it.
absl::StatusOr<Arranged> FindOutput(const std::string& name,
                                    ImportState& state) {
  const auto& outputs = state.file().graph().output();
  if (outputs.empty()) return InvalidArgument("has no outputs");
  const std::string& wanted = name.empty() ? outputs[0].name() : name;
  for (const onnx::ValueInfoProto& output : outputs) {
    if (output.name() != wanted) continue;
    ModelValue* value = state.Find(wanted);
    if (value == nullptr) break;
    return state.TensorOf(*value);
  }
  return InvalidArgument(fmt::format("has no output {}", wanted));
}

// Without the node `activation` that made it, which the loss has itself.
Arranged Before(const Arranged& x, const Node& activation, ImportState& state,
                OnnxNetwork& network) {
  network.notes.push_back(fmt::format(
      "the loss takes what {} reads: a cross entropy has its own "
      "{}",
      activation.name, activation.op == "Sigmoid" ? "sigmoid" : "softmax"));
  Arranged before = x;
  before.tensor = Tensor(&state.builder(), activation.inputs[0]);
  return before;
}

// Without a Softmax over the dimension `axis` that made it.
Arranged BeforeSoftmax(const Arranged& x, int axis, ImportState& state,
                       OnnxNetwork& network) {
  const Node& node = state.builder().graph().producer(x.tensor);
  const std::optional<int> at = x.OnlyAxis(axis);
  if (node.op != "Softmax" || !at.has_value() ||
      *at != x.tensor.shape().rank() - 1) {
    return x;
  }
  return Before(x, node, state, network);
}

absl::Status AppendCrossEntropy(Arranged x, ImportState& state,
                                OnnxNetwork& network) {
  if (x.rank() < 2) {
    return InvalidArgument(fmt::format(
        "the output is {}: a cross entropy needs logits [B, C, ...]",
        x.dims.ToString()));
  }
  x = BeforeSoftmax(x, 1, state, network);
  GraphBuilder& g = state.builder();
  const NameScope scope = g.Scope(kScope);
  const int64_t classes = x.dims.dim(1);
  const Tensor rows =
      Reshape(scope, Ordered(scope, x, ChannelsLast(x.rank())),
              Shape({x.dims.num_elements() / classes, classes}));
  std::vector<int64_t> labels = x.dims.dims();
  labels.erase(labels.begin() + 1);
  while (labels.size() > 1 && labels.back() == 1) labels.pop_back();
  network.target = g.Placeholder(state.NodeName("labels", "labels"),
                                 DType::kInt32, Shape(labels));
  network.logits = CastTo(scope, rows, DType::kFloat32);
  network.loss = SparseSoftmaxCrossEntropy(scope, network.logits,
                                           FlattenAll(scope, network.target));
  return g.status();
}

// |y - targets|.
Tensor AbsoluteErrors(const NameScope& scope, Tensor y, Tensor targets) {
  GraphBuilder& g = scope.builder();
  const Tensor distance = g.Add(scope, {.op = "Sub", .inputs = {y, targets}});
  return g.Add(scope, {.op = "Abs", .inputs = {distance}});
}

// log(1 + exp(x)) - targets x, that is -log of the logistic function where the
// target is 1, and of 1 less it where the target is 0.
Tensor SigmoidCrossEntropies(const NameScope& scope, Tensor x, Tensor targets) {
  GraphBuilder& g = scope.builder();
  const Tensor of_zero = g.Add(scope, {.op = "Softplus", .inputs = {x}});
  const Tensor product = g.Add(scope, {.op = "Mul", .inputs = {x, targets}});
  return g.Add(scope, {.op = "Sub", .inputs = {of_zero, product}});
}

Tensor MeanOfAll(const NameScope& scope, Tensor x) {
  const std::vector<int64_t> axes = {0};
  return scope.builder().Add(scope, {.op = "Mean",
                                     .inputs = {FlattenAll(scope, x)},
                                     .attributes = {{"axes", axes}}});
}

// Element by element, with targets of the output's shape.
absl::Status AppendElementLoss(OnnxLoss loss, Arranged x, ImportState& state,
                               OnnxNetwork& network) {
  GraphBuilder& g = state.builder();
  const NameScope scope = g.Scope(kScope);
  if (loss == OnnxLoss::kSigmoidCrossEntropy) {
    const Node& node = g.graph().producer(x.tensor);
    if (node.op == "Sigmoid") x = Before(x, node, state, network);
  }
  network.target = g.Placeholder(state.NodeName("targets", "targets"),
                                 DType::kFloat32, x.dims);
  const Tensor y =
      CastTo(scope, Ordered(scope, x, Identity(x.rank())), DType::kFloat32);
  if (loss == OnnxLoss::kMeanSquaredError) {
    network.loss = MeanSquaredDistance(scope, y, network.target);
  } else if (loss == OnnxLoss::kMeanAbsoluteError) {
    network.loss = MeanOfAll(scope, AbsoluteErrors(scope, y, network.target));
  } else {
    network.loss =
        MeanOfAll(scope, SigmoidCrossEntropies(scope, y, network.target));
  }
  return g.status();
}

absl::Status TakeOutput(const Arranged& x, ImportState& state,
                        OnnxNetwork& network) {
  if (x.dims.num_elements() != 1) {
    return InvalidArgument(
        fmt::format("the output is {}: it is no loss, which is one number",
                    x.dims.ToString()));
  }
  const NameScope scope = state.builder().Scope(kScope);
  network.loss =
      CastTo(scope, Reshape(scope, x.tensor, Shape()), DType::kFloat32);
  return state.builder().status();
}

}  // namespace

absl::Status AppendLoss(const OnnxTrainingOptions& options, ImportState& state,
                        OnnxNetwork& network) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged output,
                            FindOutput(options.output, state));
  switch (options.loss) {
    case OnnxLoss::kSparseSoftmaxCrossEntropy:
      return AppendCrossEntropy(output, state, network);
    case OnnxLoss::kSigmoidCrossEntropy:
    case OnnxLoss::kMeanSquaredError:
    case OnnxLoss::kMeanAbsoluteError:
      return AppendElementLoss(options.loss, output, state, network);
    case OnnxLoss::kOutput:
      return TakeOutput(output, state, network);
  }
  return absl::OkStatus();
}

}  // namespace spillway::onnx_model

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

// Without a Softmax over the dimension `axis` that made it.
Arranged BeforeSoftmax(const Arranged& x, int axis, ImportState& state,
                       OnnxNetwork& network) {
  const Graph& graph = state.builder().graph();
  const Node& node = graph.producer(x.tensor);
  const std::optional<int> at = x.OnlyAxis(axis);
  if (node.op != "Softmax" || !at.has_value() ||
      *at != x.tensor.shape().rank() - 1) {
    return x;
  }
  network.notes.push_back(
      fmt::format("the loss takes what {} reads: a cross entropy has its own "
                  "softmax",
                  node.name));
  Arranged before = x;
  before.tensor = Tensor(&state.builder(), node.inputs[0]);
  return before;
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

absl::Status AppendSquaredError(const Arranged& x, ImportState& state,
                                OnnxNetwork& network) {
  GraphBuilder& g = state.builder();
  const NameScope scope = g.Scope(kScope);
  network.target = g.Placeholder(state.NodeName("targets", "targets"),
                                 DType::kFloat32, x.dims);
  const Tensor y =
      CastTo(scope, Ordered(scope, x, Identity(x.rank())), DType::kFloat32);
  network.loss = MeanSquaredDistance(scope, y, network.target);
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
    case OnnxLoss::kMeanSquaredError:
      return AppendSquaredError(output, state, network);
    case OnnxLoss::kOutput:
      return TakeOutput(output, state, network);
  }
  return absl::OkStatus();
}

}  // namespace spillway::onnx_model

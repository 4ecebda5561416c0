// Normalisations with a scale and an offset: of batches, layers and groups.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "models/layers/layers.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/normalize.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

absl::StatusOr<bool> TrainsBatchNorm(const NodeConversion& node) {
  switch (node.state().options().batch_norm) {
    case OnnxBatchNorm::kTrain:
      return true;
    case OnnxBatchNorm::kFrozen:
      return false;
    case OnnxBatchNorm::kModel:
      break;
  }
  // Until opset 13, a node in training has more outputs than y.
  if (node.opset() >= 14) return node.node().Bool("training_mode", false);
  if (node.opset() < 7) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_test,
                              node.node().Bool("is_test", false));
    return !is_test;
  }
  return node.node().num_outputs() > 1;
}

// The moving average `input` after a batch whose statistic is [1, C, 1, ..].
absl::StatusOr<Arranged> Moved(NodeConversion& node, int input,
                               const Arranged& batch, double momentum) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged old, node.Input(input));
  const Arranged channels = Reshaped(node.scope(), batch, old.dims);
  const Tensor before = Ordered(node.scope(), old, {0});
  const Tensor now = Ordered(node.scope(), channels, {0});
  const Tensor kept =
      node.Helper("Mul", {before, node.Number(momentum, before)});
  const Tensor added =
      node.Helper("Mul", {now, node.Number(1 - momentum, now)});
  return AsIs(node.Helper("Add", {kept, added}));
}

// With the moving averages after this batch as outputs 1 and 2; in ONNX the
// variance is that of the batch itself, divided by n.
absl::Status BatchNormWithStatistics(NodeConversion& node, double epsilon,
                                     double momentum) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  std::vector<int> dims = {0};
  for (int dim = 2; dim < x.rank(); ++dim) dims.push_back(dim);
  SPILLWAY_ASSIGN_OR_RETURN(const Normalized normal,
                            NormalizeOver(node, x, dims, epsilon));
  if (!normal.y.tensor.is_valid()) return absl::OkStatus();
  std::vector<int64_t> channels(static_cast<size_t>(x.rank()) - 1, 1);
  channels[0] = x.dims.dim(1);
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y,
                            ScaleAndMove(node, normal.y, Shape(channels)));
  node.Set(0, y);
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged mean,
                            Moved(node, 3, normal.mean, momentum));
  node.Set(1, mean, node.type(3));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged variance,
                            Moved(node, 4, normal.variance, momentum));
  node.Set(2, variance, node.type(4));
  return absl::OkStatus();
}

absl::Status ConvertBatchNorm(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_spatial,
                            node.node().Bool("spatial", true));
  if (!is_spatial) return Unimplemented("spatial = 0");
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_training, TrainsBatchNorm(node));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            node.node().Real("momentum", 0.9));
  if (node.rank(0) < 2) return Unimplemented("an input without channels");
  const std::vector<int64_t> channels = {node.dims(0)[1]};
  for (int i = 1; i <= 4; ++i) {
    if (node.dims(i) == channels) continue;
    return InvalidArgument(
        fmt::format("its input {} is {}, not a vector of {} channels", i,
                    Shape(node.dims(i)).ToString(), channels[0]));
  }
  const bool is_as_file =
      node.state().options().batch_norm == OnnxBatchNorm::kModel;
  const bool has_statistics = is_training && is_as_file;
  for (int i = has_statistics ? 3 : 1; i < node.node().num_outputs(); ++i) {
    if (!node.IsWanted(i)) continue;
    // Before there is a node that writes moving averages.
    return Unimplemented(
        fmt::format("its output {} is read", node.node().output(i)));
  }
  if (has_statistics && (node.IsWanted(1) || node.IsWanted(2))) {
    return BatchNormWithStatistics(node, epsilon, momentum);
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, ChannelsAtEnd(node));
  std::vector<Tensor> inputs = {x.tensor};
  for (int i = 1; i <= 4; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(
        inputs.emplace_back(),
        node.WeightInOrder(i, {0},
                           i <= 2 ? WeightRole::kTrained : WeightRole::kFixed));
  }
  ++node.state().facts.batch_norms;
  x.tensor = node.Add("FusedBatchNorm", inputs,
                      {{"epsilon", epsilon},
                       {"momentum", momentum},
                       {"is_training", is_training}});
  node.Set(0, x);
  return absl::OkStatus();
}

// A scale or an offset, of as many numbers as `dims` has, as float32 [dims]. An
// input that is left out is zeros.
absl::StatusOr<Tensor> NormVector(NodeConversion& node, int input,
                                  const Shape& dims) {
  if (!node.has(input)) {
    return node.Helper(
        "Const", {},
        {{"dtype", DType::kFloat32}, {"shape", dims}, {"value", 0.0}});
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(input));
  if (x.dims.num_elements() != dims.num_elements()) {
    return InvalidArgument(fmt::format("its input {} is {}, not {}", input,
                                       x.dims.ToString(), dims.ToString()));
  }
  const Tensor ordered = Ordered(node.scope(), x, Identity(x.rank()));
  return CastTo(node.scope(), Reshape(node.scope(), ordered, dims),
                DType::kFloat32);
}

// Whether the tensor ends with the value's dimensions from `first` on, in their
// order.
bool EndsWith(const Arranged& x, int first) {
  int axis = x.tensor.shape().rank();
  for (int dim = x.rank() - 1; dim >= first; --dim) {
    const std::vector<int>& axes = x.axes[static_cast<size_t>(dim)];
    for (auto of_dim = axes.rbegin(); of_dim != axes.rend(); ++of_dim) {
      if (*of_dim != --axis) return false;
    }
  }
  return axis < x.tensor.shape().rank();
}

// The last `rank` dimensions of a shape.
Shape LastDims(const Shape& shape, int rank) {
  return Shape(
      std::vector<int64_t>(shape.dims().end() - rank, shape.dims().end()));
}

// With statistics as outputs: their gradients pass through the nodes that
// compute them.
absl::Status LayerNormWithStatistics(NodeConversion& node, const Arranged& x,
                                     int axis, double epsilon) {
  std::vector<int> dims;
  for (int dim = axis; dim < x.rank(); ++dim) dims.push_back(dim);
  SPILLWAY_ASSIGN_OR_RETURN(const Normalized normal,
                            NormalizeOver(node, x, dims, epsilon));
  if (!normal.y.tensor.is_valid()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(
      const Arranged y,
      ScaleAndMove(node, normal.y, LastDims(x.dims, x.rank() - axis)));
  node.Set(0, y);
  node.Set(1, normal.mean);
  node.Set(2, normal.inv_std);
  return absl::OkStatus();
}

absl::Status ConvertLayerNorm(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", -1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  if (node.IsWanted(1) || node.IsWanted(2)) {
    return LayerNormWithStatistics(node, x, axis, epsilon);
  }
  if (!EndsWith(x, axis)) {
    x = AsIs(Ordered(node.scope(), x, Identity(x.rank())));
  }
  int rank = 0;  // of the dimensions in the tensor
  for (int dim = axis; dim < x.rank(); ++dim) {
    rank += static_cast<int>(x.axes[static_cast<size_t>(dim)].size());
  }
  const Shape dims = LastDims(x.tensor.shape(), rank);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor scale, NormVector(node, 1, dims));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor offset, NormVector(node, 2, dims));
  x.tensor =
      node.Add("LayerNorm", {x.tensor, scale, offset}, {{"epsilon", epsilon}});
  node.Set(0, x);
  return absl::OkStatus();
}

// How a tensor holds [N, C, ...] if it does so as [N, ..., C, width], where
// width is a part of the dimensions behind C: what GroupNorm takes, as C groups
// of width channels. Nullopt if it lies otherwise.
std::optional<int64_t> WidthBehindChannels(const Arranged& x) {
  std::vector<int> of_axis(static_cast<size_t>(x.tensor.shape().rank()), 2);
  for (int dim = 0; dim < 2; ++dim) {
    for (const int axis : x.axes[static_cast<size_t>(dim)]) {
      of_axis[static_cast<size_t>(axis)] = dim;
    }
  }
  if (!std::ranges::is_sorted(x.axes[1])) return std::nullopt;
  // Of axes that hold more than one: those of N, any others, C, any others.
  int64_t width = 1;
  int place = 0;
  for (size_t axis = 0; axis < of_axis.size(); ++axis) {
    const int64_t size = x.tensor.shape().dim(static_cast<int>(axis));
    if (size == 1) continue;
    const int next =
        of_axis[axis] == 2 ? (place < 2 ? 1 : 3) : 2 * of_axis[axis];
    if (next < place) return std::nullopt;
    place = next;
    if (place == 3) width *= size;
  }
  return width;
}

// Normalises x, whose tensor is [N, rows, C, width]. Before opset 21, scale and
// offset may have a number for each group.
absl::Status AddGroupNorm(NodeConversion& node, Arranged x, int64_t groups,
                          int64_t width, double epsilon) {
  const NameScope scope = node.scope();
  const int64_t samples = x.dims.dim(0);
  const int64_t channels = x.dims.dim(1);
  std::array<Tensor, 2> vectors;
  for (int i = 0; i < 2; ++i) {
    const bool is_of_group = node.opset() < 21 && node.rank(i + 1) == 1 &&
                             node.dims(i + 1)[0] == groups;
    const int64_t count = is_of_group ? groups : channels;
    SPILLWAY_ASSIGN_OR_RETURN(Tensor vector,
                              NormVector(node, i + 1, Shape({count})));
    if (!vector.is_valid()) return absl::OkStatus();
    const int64_t times = channels / count * width;
    if (times > 1) vector = RepeatElements(node, vector, 0, times);
    vectors[static_cast<size_t>(i)] = vector;
  }
  const Shape whole = x.tensor.shape();
  const int64_t last = channels * width;
  const Tensor rows =
      Reshape(scope, x.tensor,
              Shape({samples, whole.num_elements() / (samples * last), last}));
  const Tensor y = node.Add("GroupNorm", {rows, vectors[0], vectors[1]},
                            {{"groups", groups}, {"epsilon", epsilon}});
  x.tensor = Reshape(scope, y, whole);
  node.Set(0, x);
  return absl::OkStatus();
}

// Each of [N, C, ...] channels alone, or in groups of C / groups.
absl::Status ConvertGroups(NodeConversion& node, int64_t groups) {
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  const int64_t channels = node.dims(0)[1];
  if (groups < 1 || channels % groups != 0) {
    return InvalidArgument(
        fmt::format("{} channels in {} groups", channels, groups));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  constexpr int64_t kMostWidth = 4096;
  std::optional<int64_t> width = WidthBehindChannels(x);
  if (!width.has_value() || *width > kMostWidth) {
    const Order order = ChannelsLast(x.rank());
    x = InOrder(Ordered(node.scope(), x, order), order);
    width = 1;
  }
  return AddGroupNorm(node, x, groups, *width, epsilon);
}

absl::Status ConvertInstanceNorm(NodeConversion& node) {
  if (node.rank(0) < 2) return Unimplemented("an input without channels");
  return ConvertGroups(node, node.dims(0)[1]);
}

absl::Status ConvertGroupNorm(NodeConversion& node) {
  if (node.rank(0) < 2) return Unimplemented("an input without channels");
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t groups,
                            node.node().Int("num_groups", 0));
  return ConvertGroups(node, groups);
}

constexpr std::array<OpEntry, 4> kAffineNormOps = {{
    {"BatchNormalization", 5, 5, ConvertBatchNorm},
    {"GroupNormalization", 3, 3, ConvertGroupNorm},
    {"InstanceNormalization", 3, 3, ConvertInstanceNorm},
    {"LayerNormalization", 2, 3, ConvertLayerNorm},
}};

}  // namespace

std::span<const OpEntry> AffineNormOps() { return kAffineNormOps; }

}  // namespace spillway::onnx_model

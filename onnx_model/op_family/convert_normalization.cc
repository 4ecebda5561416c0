// Normalisations, softmax and dropout.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "models/layers/layers.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/classes.h"
#include "onnx_model/op_family/combine.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

// The value with channels (dimension 1) as the last axis of its tensor; other
// dimensions stay where they are if that is so already.
absl::StatusOr<Arranged> ChannelsAtEnd(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (x.rank() < 2) return Unimplemented("an input without channels");
  if (!x.tensor.is_valid()) return x;
  const std::optional<int> axis = x.OnlyAxis(1);
  if (axis.has_value() && *axis == x.tensor.shape().rank() - 1) return x;
  const Order order = ChannelsLast(x.rank());
  return InOrder(Ordered(node.scope(), x, order), order);
}

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

// The value with the axes of `dims` reduced to their mean: these become 1.
Arranged MeanOver(NodeConversion& node, const Arranged& x,
                  const std::vector<int>& dims) {
  Arranged mean = x;
  std::vector<int64_t> axes;
  std::vector<int64_t> sizes = x.dims.dims();
  for (const int dim : dims) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
    sizes[static_cast<size_t>(dim)] = 1;
  }
  std::ranges::sort(axes);
  mean.dims = Shape(sizes);
  if (!axes.empty()) {
    mean.tensor =
        node.Helper("Mean", {x.tensor}, {{"axes", axes}, {"keep_dims", true}});
  }
  return mean;
}

struct Normalized {
  Arranged y = {};
  Arranged mean = {};
  Arranged variance = {};
  Arranged inv_std = {};
};

// y = (x - mean) / sqrt(variance + epsilon), over `dims`.
absl::StatusOr<Normalized> NormalizeOver(NodeConversion& node,
                                         const Arranged& x,
                                         const std::vector<int>& dims,
                                         double epsilon) {
  Normalized result;
  result.mean = MeanOver(node, x, dims);
  if (!result.mean.tensor.is_valid()) return result;
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged centred,
                            Combine(node, "Sub", x, result.mean));
  Arranged square = centred;
  square.tensor = node.Helper("Mul", {centred.tensor, centred.tensor});
  result.variance = MeanOver(node, square, dims);
  const Tensor variance = result.variance.tensor;
  if (!variance.is_valid()) return result;
  const Tensor sum =
      node.Helper("Add", {variance, node.Number(epsilon, variance)});
  result.inv_std = result.variance;
  result.inv_std.tensor = node.Helper("Power", {sum}, {{"exponent", -0.5}});
  SPILLWAY_ASSIGN_OR_RETURN(result.y,
                            Combine(node, "Mul", centred, result.inv_std));
  return result;
}

// y scale + offset; both are inputs of the node, seen as `dims`.
absl::StatusOr<Arranged> ScaleAndMove(NodeConversion& node, Arranged y,
                                      const Shape& dims) {
  for (const auto& [input, op] : {std::pair(1, "Mul"), std::pair(2, "Add")}) {
    if (!node.has(input) || !y.tensor.is_valid()) continue;
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged factor, node.Input(input));
    if (factor.dims.num_elements() != dims.num_elements()) {
      return InvalidArgument(fmt::format("its input {} is {}, not {}", input,
                                         factor.dims.ToString(),
                                         dims.ToString()));
    }
    SPILLWAY_ASSIGN_OR_RETURN(
        y, Combine(node, op, y, Reshaped(node.scope(), factor, dims)));
  }
  return y;
}

// The moving average of input `input` and a statistic of the batch, [1,
// C, 1..].
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
  for (int i = 1; i <= 4; ++i) {
    if (node.rank(i) == 1) continue;
    return InvalidArgument(fmt::format("its input {} is {}, not a vector", i,
                                       Shape(node.dims(i)).ToString()));
  }
  const bool is_as_file =
      node.state().options().batch_norm == OnnxBatchNorm::kModel;
  if (is_training && is_as_file && node.rank(0) >= 2 &&
      (node.IsWanted(1) || node.IsWanted(2))) {
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

// For each channel, the last axis, the sum of the squares of `size` channels,
// of which one more lies behind it than before: ours has odd windows only.
absl::StatusOr<Tensor> SumsOfSquares(NodeConversion& node, Tensor x,
                                     int64_t size) {
  const int64_t channels = x.shape().dim(-1);
  SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(channels * channels));
  Reals window(static_cast<size_t>(channels * channels), 0);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t end = std::min(c + size / 2 + 1, channels);
    for (int64_t i = std::max<int64_t>(c - (size - 1) / 2, 0); i < end; ++i) {
      window[static_cast<size_t>(c * channels + i)] = 1;
    }
  }
  const Tensor squares = node.Helper("Mul", {x, x});
  if (!squares.is_valid()) return squares;
  return TimesMatrix(node, squares, x.shape().rank() - 1, window);
}

// alpha is divided by the window in ONNX.
absl::Status ConvertLrn(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t size, node.node().Int("size", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha,
                            node.node().Real("alpha", 1e-4));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta, node.node().Real("beta", 0.75));
  SPILLWAY_ASSIGN_OR_RETURN(const double bias, node.node().Real("bias", 1));
  if (size < 1) return InvalidArgument(fmt::format("size is {}", size));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, ChannelsAtEnd(node));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const double share = alpha / static_cast<double>(size);
  if (size % 2 == 0) {
    SPILLWAY_ASSIGN_OR_RETURN(const Tensor squares,
                              SumsOfSquares(node, x.tensor, size));
    const Tensor scaled =
        node.Helper("Mul", {squares, node.Number(share, squares)});
    const Tensor base = node.Helper("Add", {scaled, node.Number(bias, scaled)});
    const Tensor factor = node.Helper("Power", {base}, {{"exponent", -beta}});
    x.tensor = node.Add("Mul", {x.tensor, factor});
    node.Set(0, x);
    return absl::OkStatus();
  }
  x.tensor = node.Add("LRN", {x.tensor},
                      {{"depth_radius", (size - 1) / 2},
                       {"bias", bias},
                       {"alpha", share},
                       {"beta", beta}});
  node.Set(0, x);
  return absl::OkStatus();
}

// The value as [others, axis]: the dimension over which softmax goes is the
// last axis of a tensor. Until opset 12 it is all dimensions from `axis` on.
absl::StatusOr<Arranged> SoftmaxInput(NodeConversion& node, int axis,
                                      bool flattens) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return x;
  if (flattens) {
    int64_t rows = 1;
    for (int dim = 0; dim < axis; ++dim) rows *= x.dims.dim(dim);
    return AsIs(Ordered(
        node.scope(),
        Reshaped(node.scope(), x, Shape({rows, x.dims.num_elements() / rows})),
        Identity(2)));
  }
  const std::optional<int> at = x.OnlyAxis(axis);
  if (at.has_value() && *at == x.tensor.shape().rank() - 1) return x;
  Order order = Identity(x.rank());
  order.erase(order.begin() + axis);
  order.push_back(axis);
  return InOrder(Ordered(node.scope(), x, order), order);
}

absl::Status ConvertSoftmaxAs(NodeConversion& node, bool is_log) {
  const bool is_old = node.opset() < 13;
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated,
                            node.node().Int("axis", is_old ? 1 : -1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  const bool flattens = is_old && axis != node.rank(0) - 1;
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, SoftmaxInput(node, axis, flattens));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  x.tensor =
      is_log ? LogSoftmax(node, x.tensor) : node.Add("Softmax", {x.tensor});
  if (!x.tensor.is_valid()) return absl::OkStatus();
  if (flattens) x = Reshaped(node.scope(), x, Shape(node.dims(0)));
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertSoftmax(NodeConversion& node) {
  return ConvertSoftmaxAs(node, /*is_log=*/false);
}
absl::Status ConvertLogSoftmax(NodeConversion& node) {
  return ConvertSoftmaxAs(node, /*is_log=*/true);
}

absl::StatusOr<double> DropoutRatio(NodeConversion& node) {
  if (node.opset() < 12) return node.node().Real("ratio", 0.5);
  if (!node.has(1)) return 0.5;
  SPILLWAY_ASSIGN_OR_RETURN(const Constant ratio, node.ConstantInput(1));
  if (ratio.size() != 1) return InvalidArgument("ratio is not one number");
  return ratio.real(0);
}

absl::StatusOr<bool> Drops(NodeConversion& node) {
  switch (node.state().options().dropout) {
    case OnnxDropout::kOn:
      return true;
    case OnnxDropout::kOff:
      return false;
    case OnnxDropout::kModel:
      break;
  }
  if (node.opset() < 7) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_test,
                              node.node().Bool("is_test", false));
    return !is_test;
  }
  if (node.opset() < 12 || !node.has(2)) return false;
  SPILLWAY_ASSIGN_OR_RETURN(const Constant mode, node.ConstantInput(2));
  return mode.size() == 1 && mode.integer(0) != 0;
}

// The mask of a dropout that keeps all. Most nodes have one that nobody reads.
void SetFullMask(NodeConversion& node) {
  constexpr int64_t kMostElements = int64_t{1} << 20;
  if (!node.node().has_output(1) || CountOf(node.dims(0)) > kMostElements) {
    return;
  }
  const ElementType type =
      node.opset() < 10 ? node.type(0) : ElementType::kBool;
  const auto count = static_cast<size_t>(CountOf(node.dims(0)));
  node.Set(1, IsFloating(type)
                  ? MakeConstant(type, node.dims(0), Reals(count, 1))
                  : MakeConstant(type, node.dims(0), Integers(count, 1)));
}

absl::Status ConvertDropout(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool drops, Drops(node));
  SPILLWAY_ASSIGN_OR_RETURN(const double ratio, DropoutRatio(node));
  if (!(ratio >= 0 && ratio < 1)) {
    return InvalidArgument(
        fmt::format("ratio is {}, it must be in [0, 1)", ratio));
  }
  if (!drops || ratio == 0) {
    node.SetToInput(0, 0);
    SetFullMask(node);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  x.tensor = Dropout(node.scope(), x.tensor, {.rate = ratio});
  node.Set(0, x);
  return absl::OkStatus();
}

// An input of `count` numbers as float32 [dims]: a scale or an offset. Numbers
// that are left out are 0.
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
  const std::optional<int64_t> width = WidthBehindChannels(x);
  if (!width.has_value() || *width > kMostWidth) {
    const Order order = ChannelsLast(x.rank());
    x = InOrder(Ordered(node.scope(), x, order), order);
    return AddGroupNorm(node, x, groups, 1, epsilon);
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

// (x - mean) / (standard deviation + 1e-9) over dimensions.
absl::Status ConvertMeanVariance(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> stated,
                            node.node().Ints("axes"));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<int> dims,
      node.Axes(stated.value_or(std::vector<int64_t>{0, 2, 3}), node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Attributes over = {{"axes", TensorAxes(x, dims)}, {"keep_dims", true}};
  const Tensor mean = node.Helper("Mean", {x.tensor}, over);
  const Tensor centred = node.Helper("Sub", {x.tensor, mean});
  const Tensor variance =
      node.Helper("Mean", {node.Helper("Mul", {centred, centred})}, over);
  const Tensor deviation = node.Helper("Sqrt", {variance});
  const Tensor divisor =
      node.Helper("Add", {deviation, node.Number(1e-9, x.tensor)});
  x.tensor = node.Add("RealDiv", {centred, divisor});
  node.Set(0, x);
  return absl::OkStatus();
}

// x / (sum of |x|^p)^(1/p) over one dimension, for p of 1 or 2.
absl::Status ConvertLpNormalization(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", -1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t p, node.node().Int("p", 2));
  if (p != 1 && p != 2) return InvalidArgument(fmt::format("p is {}", p));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Attributes over = {{"axes", TensorAxes(x, {axis})},
                           {"keep_dims", true}};
  const Tensor powers = p == 1 ? node.Helper("Abs", {x.tensor})
                               : node.Helper("Mul", {x.tensor, x.tensor});
  Tensor norm = node.Helper("Sum", {powers}, over);
  if (p == 2) norm = node.Helper("Sqrt", {norm});
  x.tensor = node.Add("RealDiv", {x.tensor, norm});
  node.Set(0, x);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 10> kNormalizationOps = {{
    {"BatchNormalization", 5, 5, ConvertBatchNorm},
    {"Dropout", 1, 3, ConvertDropout},
    {"GroupNormalization", 3, 3, ConvertGroupNorm},
    {"InstanceNormalization", 3, 3, ConvertInstanceNorm},
    {"LRN", 1, 1, ConvertLrn},
    {"LayerNormalization", 2, 3, ConvertLayerNorm},
    {"LogSoftmax", 1, 1, ConvertLogSoftmax},
    {"LpNormalization", 1, 1, ConvertLpNormalization},
    {"MeanVarianceNormalization", 1, 1, ConvertMeanVariance},
    {"Softmax", 1, 1, ConvertSoftmax},
}};

}  // namespace

std::span<const OpEntry> NormalizationOps() { return kNormalizationOps; }

}  // namespace spillway::onnx_model

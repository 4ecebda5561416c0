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

absl::Status ConvertBatchNorm(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_spatial,
                            node.node().Bool("spatial", true));
  if (!is_spatial) return Unimplemented("spatial = 0");
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_training, TrainsBatchNorm(node));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            node.node().Real("momentum", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, ChannelsAtEnd(node));
  std::vector<Tensor> inputs = {x.tensor};
  for (int i = 1; i <= 4; ++i) {
    if (node.rank(i) != 1) {
      return InvalidArgument(fmt::format("its input {} is {}, not a vector", i,
                                         Shape(node.dims(i)).ToString()));
    }
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

// alpha is divided by the window in ONNX.
absl::Status ConvertLrn(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t size, node.node().Int("size", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha,
                            node.node().Real("alpha", 1e-4));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta, node.node().Real("beta", 0.75));
  SPILLWAY_ASSIGN_OR_RETURN(const double bias, node.node().Real("bias", 1));
  if (size < 1) return InvalidArgument(fmt::format("size is {}", size));
  if (size % 2 == 0) return Unimplemented("a window of even size");
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, ChannelsAtEnd(node));
  x.tensor = node.Add("LRN", {x.tensor},
                      {{"depth_radius", (size - 1) / 2},
                       {"bias", bias},
                       {"alpha", alpha / static_cast<double>(size)},
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
  result.inv_std = MeanOver(node, square, dims);
  Tensor& variance = result.inv_std.tensor;
  if (!variance.is_valid()) return result;
  variance = node.Helper("Add", {variance, node.Number(epsilon, variance)});
  variance = node.Helper("Power", {variance}, {{"exponent", -0.5}});
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

absl::Status ConvertLayerNorm(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", -1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  std::vector<int> dims;
  std::vector<int64_t> sizes;
  for (int dim = axis; dim < x.rank(); ++dim) {
    dims.push_back(dim);
    sizes.push_back(x.dims.dim(dim));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Normalized normal,
                            NormalizeOver(node, x, dims, epsilon));
  if (!normal.y.tensor.is_valid()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y,
                            ScaleAndMove(node, normal.y, Shape(sizes)));
  node.Set(0, y);
  node.Set(1, normal.mean);
  node.Set(2, normal.inv_std);
  return absl::OkStatus();
}

// Scale and offset of channels, as [C, 1, 1].
Shape ChannelDims(const Arranged& x) {
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()) - 1, 1);
  dims[0] = x.dims.dim(1);
  return Shape(dims);
}

// Channels in groups: [N, G, C / G, spatial...], normalised over all but N, G.
absl::StatusOr<Arranged> NormalizeGroups(NodeConversion& node,
                                         const Arranged& x, int64_t groups,
                                         double epsilon) {
  const int64_t channels = x.dims.dim(1);
  if (groups < 1 || channels % groups != 0) {
    return InvalidArgument(
        fmt::format("{} channels in {} groups", channels, groups));
  }
  std::vector<int64_t> sizes = x.dims.dims();
  sizes[1] = channels / groups;
  sizes.insert(sizes.begin() + 1, groups);
  if (sizes.size() > static_cast<size_t>(Shape::kMaxRank)) {
    return Unimplemented("an input of so many dimensions");
  }
  const Arranged grouped = Reshaped(node.scope(), x, Shape(sizes));
  std::vector<int> dims;
  for (int dim = 2; dim < grouped.rank(); ++dim) dims.push_back(dim);
  SPILLWAY_ASSIGN_OR_RETURN(const Normalized normal,
                            NormalizeOver(node, grouped, dims, epsilon));
  if (!normal.y.tensor.is_valid()) return normal.y;
  return Reshaped(node.scope(), normal.y, x.dims);
}

absl::Status ConvertGroups(NodeConversion& node, int64_t groups) {
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            node.node().Real("epsilon", 1e-5));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(Arranged y,
                            NormalizeGroups(node, x, groups, epsilon));
  if (!y.tensor.is_valid()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(y, ScaleAndMove(node, y, ChannelDims(x)));
  node.Set(0, y);
  return absl::OkStatus();
}

absl::Status ConvertInstanceNorm(NodeConversion& node) {
  if (node.rank(0) < 2) return Unimplemented("an input without channels");
  return ConvertGroups(node, node.dims(0)[1]);
}

absl::Status ConvertGroupNorm(NodeConversion& node) {
  if (node.rank(0) < 2) return Unimplemented("an input without channels");
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t groups,
                            node.node().Int("num_groups", 0));
  if (node.opset() < 21 && node.rank(1) == 1 &&
      node.dims(1)[0] != node.dims(0)[1]) {
    return Unimplemented("a scale for each group (opset 18)");
  }
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

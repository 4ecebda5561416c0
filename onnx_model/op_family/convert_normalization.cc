// Other normalisations, softmax and dropout.
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
#include "onnx_model/op_family/normalize.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

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

constexpr std::array<OpEntry, 6> kNormalizationOps = {{
    {"Dropout", 1, 3, ConvertDropout},
    {"LRN", 1, 1, ConvertLrn},
    {"LogSoftmax", 1, 1, ConvertLogSoftmax},
    {"LpNormalization", 1, 1, ConvertLpNormalization},
    {"MeanVarianceNormalization", 1, 1, ConvertMeanVariance},
    {"Softmax", 1, 1, ConvertSoftmax},
}};

}  // namespace

std::span<const OpEntry> NormalizationOps() { return kNormalizationOps; }

}  // namespace spillway::onnx_model

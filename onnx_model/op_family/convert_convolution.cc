// Conv and ConvTranspose, in one to three spatial dimensions. Filters of the
// model are [out, in / groups, kernel...], ours [out, kernel..., in / groups].
#include <fmt/format.h>

#include <array>
#include <numeric>
#include <optional>

#include "base/status_macros.h"
#include "onnx_model/op_family/op_table.h"
#include "onnx_model/op_family/window.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// Larger pictures would not fit any memory; their sizes times strides stay in
// 64 bits.
constexpr int64_t kMostSize = int64_t{1} << 30;

Sizes SpatialOf(const Sizes& dims) { return {dims.begin() + 2, dims.end()}; }

// Shapes of input and filter that any convolution has.
absl::Status CheckConvolution(const NodeConversion& node) {
  const int rank = node.rank(0);
  if (rank < 3 || rank > 5) {
    return Unimplemented(
        fmt::format("an input of {} dimensions; 3 to 5 are possible", rank));
  }
  for (const int64_t dim : node.dims(0)) {
    if (dim > kMostSize) return Unimplemented(fmt::format("size {}", dim));
  }
  if (node.rank(1) != rank) {
    return InvalidArgument(fmt::format("its input is {}, its filter {}",
                                       Shape(node.dims(0)).ToString(),
                                       Shape(node.dims(1)).ToString()));
  }
  return absl::OkStatus();
}

// [N, W, C] as [N, 1, W, C], and a filter likewise.
Tensor WithHeight(NodeConversion& node, Tensor x) {
  if (!x.is_valid()) return x;
  const Shape shape = x.shape();
  return node.Helper(
      "Reshape", {x},
      {{"shape", Sizes{shape.dim(0), 1, shape.dim(1), shape.dim(2)}}});
}

Tensor WithoutHeight(NodeConversion& node, Tensor x) {
  if (!x.is_valid()) return x;
  const Shape shape = x.shape();
  return node.Helper(
      "Reshape", {x},
      {{"shape", Sizes{shape.dim(0), shape.dim(2), shape.dim(3)}}});
}

// Whether the input was computed from constants and is zero throughout:
// PyTorch's newer exporter writes such a bias for a convolution without one. A
// constant that is stated, is a weight.
absl::StatusOr<bool> IsZeros(NodeConversion& node, int input) {
  if (!node.value(input).is_folded) return false;
  SPILLWAY_ASSIGN_OR_RETURN(const Constant constant, node.ConstantInput(input));
  for (size_t i = 0; i < constant.size(); ++i) {
    if (constant.real(i) != 0) return false;
  }
  return true;
}

absl::StatusOr<Tensor> AddBias(NodeConversion& node, Tensor y) {
  if (!node.has(2)) return y;
  if (node.rank(2) != 1) {
    return InvalidArgument(fmt::format("its bias is {}, not a vector",
                                       Shape(node.dims(2)).ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_none, IsZeros(node, 2));
  if (is_none) return y;
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor bias, node.WeightInOrder(2, {0}));
  ++node.state().facts.convolutions_with_bias;
  return node.Helper("BiasAdd", {y, bias});
}

struct Operands {
  Tensor x = {};
  Tensor filter = {};
  Window window = {};
};

// Both in our order, one spatial dimension raised to two.
absl::StatusOr<Operands> ReadOperands(NodeConversion& node, Window window) {
  const Order order = ChannelsLast(node.rank(0));
  Operands operands = {.window = std::move(window)};
  SPILLWAY_ASSIGN_OR_RETURN(operands.x, node.InputInOrder(0, order));
  SPILLWAY_ASSIGN_OR_RETURN(operands.filter, node.WeightInOrder(1, order));
  if (node.rank(0) == 3) {
    operands.x = WithHeight(node, operands.x);
    operands.filter = WithHeight(node, operands.filter);
    operands.window = RaiseWindow(operands.window);
  }
  return operands;
}

absl::Status Finish(NodeConversion& node, Tensor y) {
  SPILLWAY_ASSIGN_OR_RETURN(y, AddBias(node, y));
  if (node.rank(0) == 3) y = WithoutHeight(node, y);
  if (!y.is_valid()) return absl::OkStatus();
  node.Set(0, InOrder(y, ChannelsLast(node.rank(0))));
  return absl::OkStatus();
}

absl::Status ConvertConv(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckConvolution(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      Window window,
      ReadWindow(node, SpatialOf(node.dims(0)), SpatialOf(node.dims(1))));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t groups, node.node().Int("group", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const Operands operands,
                            ReadOperands(node, std::move(window)));
  Attributes attributes = ConvAttributes(operands.window);
  if (groups != 1) attributes.Set("groups", groups);
  return Finish(node, node.Add(node.rank(0) == 5 ? "Conv3D" : "Conv2D",
                               {operands.x, operands.filter}, attributes));
}

// Sizes of the output, and the padding of the convolution that leads from it to
// the input. Source: onnx, ConvTranspose.
absl::StatusOr<Sizes> TransposedSizes(const NodeConversion& node,
                                      Window& window) {
  const size_t rank = window.rank();
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> extra,
                            node.node().Ints("output_padding"));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated,
                            node.node().Ints("output_shape"));
  if ((extra.has_value() && extra->size() != rank) ||
      (stated.has_value() && stated->size() != rank)) {
    return InvalidArgument(
        fmt::format("output_padding or output_shape has not {} entries", rank));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::string auto_pad,
                            node.node().Text("auto_pad", "NOTSET"));
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Sizes sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t input = node.dims(0)[i + 2];
    const int64_t added = extra.has_value() ? (*extra)[i] : 0;
    if (added < 0 || added > window.strides[i] * window.dilations[i]) {
      return InvalidArgument(
          fmt::format("output_padding has the entry {}", added));
    }
    const int64_t whole = (input - 1) * window.strides[i] + added +
                          (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (!stated.has_value() && !is_same) {
      sizes[i] = whole - window.before[i] - window.after[i];
      continue;
    }
    sizes[i] = stated.has_value() ? (*stated)[i] : input * window.strides[i];
    const int64_t total = std::max<int64_t>(0, whole - sizes[i]);
    const int64_t less = total / 2;
    window.before[i] = auto_pad == "SAME_LOWER" ? total - less : less;
    window.after[i] = total - window.before[i];
  }
  return sizes;
}

absl::Status ConvertConvTranspose(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckConvolution(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      Window window,
      ReadWindow(node, SpatialOf(node.dims(0)), SpatialOf(node.dims(1))));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t groups, node.node().Int("group", 1));
  if (groups < 1 || groups > node.dims(0)[1]) {
    return InvalidArgument(fmt::format("group is {}", groups));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes sizes, TransposedSizes(node, window));
  SPILLWAY_ASSIGN_OR_RETURN(const Operands operands,
                            ReadOperands(node, std::move(window)));
  Attributes attributes = ConvAttributes(operands.window);
  if (groups != 1) attributes.Set("groups", groups);
  Sizes output = {node.dims(0)[0]};
  if (sizes.size() == 1) output.push_back(1);
  output.insert(output.end(), sizes.begin(), sizes.end());
  output.push_back(node.dims(1)[1] * groups);
  attributes.Set("output_shape", output);
  return Finish(
      node, node.Add(node.rank(0) == 5 ? "Conv3DTranspose" : "Conv2DTranspose",
                     {operands.x, operands.filter}, attributes));
}

constexpr std::array<OpEntry, 2> kConvolutionOps = {{
    {"Conv", 2, 3, ConvertConv},
    {"ConvTranspose", 2, 3, ConvertConvTranspose},
}};

}  // namespace

std::span<const OpEntry> ConvolutionOps() { return kConvolutionOps; }

}  // namespace spillway::onnx_model

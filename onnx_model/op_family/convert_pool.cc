// Pools over windows, and over all that is spatial.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/op_family/op_table.h"
#include "onnx_model/op_family/window.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

absl::Status CheckPool(const NodeConversion& node, int least) {
  if (node.rank(0) >= least && node.rank(0) <= 5) return absl::OkStatus();
  return Unimplemented(fmt::format(
      "an input of {} dimensions; {} to 5 are possible", node.rank(0), least));
}

Tensor ReshapeTo(NodeConversion& node, Tensor x, const Sizes& shape) {
  if (!x.is_valid()) return x;
  return node.Helper("Reshape", {x}, {{"shape", shape}});
}

// The input channels-last; one spatial dimension raised to two.
absl::StatusOr<Tensor> PoolInput(NodeConversion& node, Window& window) {
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x,
                            node.InputInOrder(0, ChannelsLast(node.rank(0))));
  if (node.rank(0) != 3 || !x.is_valid()) return x;
  window = RaiseWindow(window);
  const Shape shape = x.shape();
  return ReshapeTo(node, x, {shape.dim(0), 1, shape.dim(1), shape.dim(2)});
}

void SetPooled(NodeConversion& node, Tensor y) {
  if (!y.is_valid()) return;
  const Shape shape = y.shape();
  if (node.rank(0) == 3) {
    y = ReshapeTo(node, y, {shape.dim(0), shape.dim(2), shape.dim(3)});
  }
  if (y.is_valid()) node.Set(0, InOrder(y, ChannelsLast(node.rank(0))));
}

Attributes PoolAttributes(const Window& window) {
  Attributes attributes = {{"ksize", window.kernel},
                           {"strides", window.strides},
                           {"padding", "VALID"}};
  if (window.has_padding()) {
    attributes.Set("padding", "EXPLICIT");
    attributes.Set("explicit_paddings", window.Paddings());
  }
  return attributes;
}

absl::StatusOr<Window> ReadPool(const NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckPool(node, 3));
  const Sizes& dims = node.dims(0);
  SPILLWAY_ASSIGN_OR_RETURN(
      Window window, ReadWindow(node, {dims.begin() + 2, dims.end()}, {}));
  if (window.has_dilations()) return Unimplemented("dilations");
  return window;
}

std::string PoolOp(const NodeConversion& node, const char* name) {
  return node.rank(0) == 5 ? fmt::format("{}3D", name) : std::string(name);
}

absl::Status ConvertMaxPool(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Window window, ReadPool(node));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, PoolInput(node, window));
  SetPooled(node,
            node.Add(PoolOp(node, "MaxPool"), {x}, PoolAttributes(window)));
  return absl::OkStatus();
}

// Padding as zeros of the input, so that a mean counts it, but no overhang.
Tensor PadZeros(NodeConversion& node, Tensor x, Window& window) {
  AttributeValue::List paddings(window.rank() + 2, Sizes{0, 0});
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t after = window.after[i] - window.overhang[i];
    paddings[i + 1] = Sizes{window.before[i], after};
    window.before[i] = 0;
    window.after[i] = window.overhang[i];
  }
  return node.Helper("Pad", {x}, {{"paddings", paddings}});
}

absl::Status ConvertAveragePool(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Window window, ReadPool(node));
  SPILLWAY_ASSIGN_OR_RETURN(const bool counts,
                            node.node().Bool("count_include_pad", false));
  SPILLWAY_ASSIGN_OR_RETURN(Tensor x, PoolInput(node, window));
  bool has_overhang = false;
  for (const int64_t cells : window.overhang) has_overhang |= cells != 0;
  const bool pads_first = counts && has_overhang && window.has_padding();
  if (pads_first) x = PadZeros(node, x, window);
  Attributes attributes = PoolAttributes(window);
  if (counts && !pads_first) attributes.Set("count_include_pad", true);
  SetPooled(node, node.Add(PoolOp(node, "AvgPool"), {x}, attributes));
  return absl::OkStatus();
}

// The axes of the tensor that hold all dimensions from the third on.
std::vector<int64_t> SpatialAxes(const Arranged& x) {
  std::vector<int64_t> axes;
  for (int dim = 2; dim < x.rank(); ++dim) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  }
  return axes;
}

void SetDimsToOne(Arranged& x, int first) {
  Sizes dims = x.dims.dims();
  for (int dim = first; dim < x.rank(); ++dim) {
    dims[static_cast<size_t>(dim)] = 1;
  }
  x.dims = Shape(dims);
}

absl::Status ConvertGlobalAveragePool(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (x.rank() < 2) return InvalidArgument("has an input without channels");
  x.tensor = node.Add("Mean", {x.tensor},
                      {{"axes", SpatialAxes(x)}, {"keep_dims", true}});
  SetDimsToOne(x, 2);
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertGlobalMaxPool(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckPool(node, 3));
  const Sizes& dims = node.dims(0);
  Window window = {.kernel = {dims.begin() + 2, dims.end()}};
  window.strides = window.dilations = Sizes(window.rank(), 1);
  window.before = window.after = window.overhang = Sizes(window.rank(), 0);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, PoolInput(node, window));
  SetPooled(node,
            node.Add(PoolOp(node, "MaxPool"), {x}, PoolAttributes(window)));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 4> kPoolOps = {{
    {"AveragePool", 1, 1, ConvertAveragePool},
    {"GlobalAveragePool", 1, 1, ConvertGlobalAveragePool},
    {"GlobalMaxPool", 1, 1, ConvertGlobalMaxPool},
    {"MaxPool", 1, 1, ConvertMaxPool},
}};

}  // namespace

std::span<const OpEntry> PoolOps() { return kPoolOps; }

}  // namespace spillway::onnx_model

// Pools over windows, and over all that is spatial.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/op_family/axes.h"
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

// Dilated windows have lists of cells, and a node for each cell of a kernel.
absl::Status CheckDilated(const NodeConversion& node, const Window& window) {
  constexpr int64_t kMostCells = 256;
  for (size_t dim = 0; dim < window.rank(); ++dim) {
    const int64_t n = node.dims(0)[dim + 2];
    const int64_t cells = n + window.before[dim] + window.after[dim];
    if (window.kernel[dim] > kMostCells) {
      return Unimplemented("dilations of a window that is so large");
    }
    if (window.dilations[dim] > cells ||
        (window.kernel[dim] - 1) * window.dilations[dim] + 1 > cells) {
      return InvalidArgument(
          fmt::format("its window is larger than its input of {}", n));
    }
    if (window.output_size(dim, n) > kMostConstantElements / n) {
      return Unimplemented("dilations over an input that is so large");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Window> ReadPool(const NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckPool(node, 3));
  const Sizes& dims = node.dims(0);
  SPILLWAY_ASSIGN_OR_RETURN(
      Window window, ReadWindow(node, {dims.begin() + 2, dims.end()}, {}));
  if (window.has_dilations()) {
    SPILLWAY_RETURN_IF_ERROR(CheckDilated(node, window));
  }
  return window;
}

// Windows with dilations are taken dimension by dimension. Of dimension `dim`
// with n elements: the place of cell `k` of window `o`; it may be padding.
int64_t CellOf(const Window& window, size_t dim, int64_t o, int64_t k) {
  return o * window.strides[dim] + k * window.dilations[dim] -
         window.before[dim];
}

// The largest of the k-th cells of all windows, for each k.
Tensor DilatedMax(NodeConversion& node, Tensor x, const Window& window) {
  for (size_t dim = 0; dim < window.rank() && x.is_valid(); ++dim) {
    const int axis = static_cast<int>(dim) + 1;
    const int64_t windows = window.output_size(dim, x.shape().dim(axis));
    AttributeValue::List paddings(window.rank() + 2, Sizes{0, 0});
    paddings[dim + 1] = Sizes{window.before[dim], window.after[dim]};
    const Tensor padded =
        node.Helper("Pad", {x},
                    {{"paddings", paddings},
                     {"value", double{std::numeric_limits<float>::lowest()}}});
    for (int64_t k = 0; k < window.kernel[dim]; ++k) {
      Sizes cells;
      for (int64_t o = 0; o < windows; ++o) {
        cells.push_back(CellOf(window, dim, o, k) + window.before[dim]);
      }
      const Tensor of_windows = GatherRows(
          node, padded, IndexList(node, cells, Shape({windows})), axis);
      x = k == 0 ? of_windows : node.Helper("Maximum", {x, of_windows});
    }
  }
  return x;
}

// A window's mean is a product with a matrix. With padding, the standard's
// tests count the overhang of such windows too.
Tensor DilatedMean(NodeConversion& node, Tensor x, const Window& window,
                   bool counts_padding) {
  for (size_t dim = 0; dim < window.rank() && x.is_valid(); ++dim) {
    const int axis = static_cast<int>(dim) + 1;
    const int64_t n = x.shape().dim(axis);
    const int64_t windows = window.output_size(dim, n);
    const int64_t end = n + window.after[dim];
    Reals means(static_cast<size_t>(windows * n), 0);
    for (int64_t o = 0; o < windows; ++o) {
      double* row = &means[static_cast<size_t>(o * n)];
      double count = 0;
      for (int64_t k = 0; k < window.kernel[dim]; ++k) {
        const int64_t cell = CellOf(window, dim, o, k);
        const bool is_input = cell >= 0 && cell < n;
        if (is_input) row[cell] += 1;
        if (is_input || (counts_padding && cell < end)) count += 1;
      }
      for (int64_t i = 0; i < n; ++i) row[i] /= std::max(count, 1.0);
    }
    x = TimesMatrix(node, x, axis, means);
  }
  return x;
}

std::string PoolOp(const NodeConversion& node, const char* name) {
  return node.rank(0) == 5 ? fmt::format("{}3D", name) : std::string(name);
}

absl::Status ConvertMaxPool(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Window window, ReadPool(node));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, PoolInput(node, window));
  if (window.has_dilations()) {
    SetPooled(node, DilatedMax(node, x, window));
    return absl::OkStatus();
  }
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
  if (window.has_dilations()) {
    SetPooled(node, DilatedMean(node, x, window, counts));
    return absl::OkStatus();
  }
  bool has_overhang = false;
  for (const int64_t cells : window.overhang) has_overhang |= cells != 0;
  const bool pads_first = counts && has_overhang && window.has_padding();
  if (pads_first) x = PadZeros(node, x, window);
  Attributes attributes = PoolAttributes(window);
  if (counts && !pads_first) attributes.Set("count_include_pad", true);
  SetPooled(node, node.Add(PoolOp(node, "AvgPool"), {x}, attributes));
  return absl::OkStatus();
}

Tensor ToPower(NodeConversion& node, Tensor x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return node.Helper("Mul", {x, x});
  if (exponent == 0.5) return node.Helper("Sqrt", {x});
  return node.Helper("Power", {x}, {{"exponent", exponent}});
}

// (sum over the window of |x|^p)^(1/p): a mean that counts padding, times the
// elements of a window.
absl::Status ConvertLpPool(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Window window, ReadPool(node));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t p, node.node().Int("p", 2));
  if (p < 1) return InvalidArgument(fmt::format("p is {}", p));
  if (window.has_dilations()) return Unimplemented("dilations");
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, PoolInput(node, window));
  if (!x.is_valid()) return absl::OkStatus();
  const auto exponent = static_cast<double>(p);
  Attributes attributes = PoolAttributes(window);
  attributes.Set("count_include_pad", true);
  const Tensor mean = node.Helper(
      PoolOp(node, "AvgPool"),
      {ToPower(node, node.Helper("Abs", {x}), exponent)}, attributes);
  if (!mean.is_valid()) return absl::OkStatus();
  const auto elements = static_cast<double>(CountOf(window.kernel));
  const Tensor sum = node.Add("Mul", {mean, node.Number(elements, mean)});
  SetPooled(node, ToPower(node, sum, 1 / exponent));
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

constexpr std::array<OpEntry, 5> kPoolOps = {{
    {"AveragePool", 1, 1, ConvertAveragePool},
    {"GlobalAveragePool", 1, 1, ConvertGlobalAveragePool},
    {"GlobalMaxPool", 1, 1, ConvertGlobalMaxPool},
    {"LpPool", 1, 1, ConvertLpPool},
    {"MaxPool", 1, 1, ConvertMaxPool},
}};

}  // namespace

std::span<const OpEntry> PoolOps() { return kPoolOps; }

}  // namespace spillway::onnx_model

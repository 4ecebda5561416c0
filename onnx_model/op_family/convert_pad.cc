// Pad: a value, or elements of the input itself, before and behind it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/status_macros.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kMostPadding = int64_t{1} << 40;

struct Padding {
  Sizes amounts = {};  // [begins.., ends..]
  double value = 0;
};

absl::StatusOr<Padding> ReadPadding(NodeConversion& node) {
  Padding padding;
  if (node.opset() < 11) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> pads,
                              node.node().Ints("pads"));
    padding.amounts = pads.value_or(Sizes());
    SPILLWAY_ASSIGN_OR_RETURN(padding.value, node.node().Real("value", 0));
  } else {
    if (!node.has(1)) return InvalidArgument("has no pads");
    SPILLWAY_ASSIGN_OR_RETURN(padding.amounts, node.IntegersInput(1));
    if (node.has(2)) {
      SPILLWAY_ASSIGN_OR_RETURN(const Constant value, node.ConstantInput(2));
      if (value.size() == 1) padding.value = value.real(0);
    }
  }
  const auto rank = static_cast<size_t>(node.rank(0));
  if (node.has(3)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes stated, node.IntegersInput(3));
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> axes,
                              node.Axes(stated, node.rank(0)));
    if (padding.amounts.size() != 2 * axes.size()) {
      return InvalidArgument("pads and axes differ in length");
    }
    Sizes all(2 * rank, 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      all[axis] = padding.amounts[i];
      all[rank + axis] = padding.amounts[axes.size() + i];
    }
    padding.amounts = all;
  }
  if (padding.amounts.size() != 2 * rank) {
    return InvalidArgument(fmt::format("pads has {} entries for {} dimensions",
                                       padding.amounts.size(), rank));
  }
  return padding;
}

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

// The element of n that is at place i, which may be before or behind them.
int64_t PaddedFrom(PadMode mode, int64_t i, int64_t n) {
  if (mode == PadMode::kEdge || n == 1) {
    return std::clamp<int64_t>(i, 0, n - 1);
  }
  const int64_t period = mode == PadMode::kWrap ? n : 2 * (n - 1);
  const int64_t place = ((i % period) + period) % period;
  return place < n ? place : period - place;
}

// A dimension's padding; what is negative is cut off before.
struct DimPadding {
  int dim = 0;
  int64_t before = 0;
  int64_t after = 0;
};

absl::StatusOr<std::vector<DimPadding>> PaddedDims(NodeConversion& node,
                                                   const Padding& padding,
                                                   PadMode mode) {
  const int rank = node.rank(0);
  std::vector<DimPadding> padded;
  for (int dim = 0; dim < rank; ++dim) {
    const auto at = static_cast<size_t>(dim);
    const int64_t before = padding.amounts[at];
    const int64_t after = padding.amounts[at + static_cast<size_t>(rank)];
    const int64_t size = node.dims(0)[at];
    if (before < -kMostPadding || before > kMostPadding ||
        after < -kMostPadding || after > kMostPadding ||
        size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) < 1) {
      return InvalidArgument(
          fmt::format("pads has the entries {} and {} for a dimension of {}",
                      before, after, size));
    }
    if (mode != PadMode::kConstant) {
      SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(
          size + std::max<int64_t>(before, 0) + std::max<int64_t>(after, 0)));
    }
    if (before != 0 || after != 0) padded.push_back({dim, before, after});
  }
  return padded;
}

// Without what negative entries cut off.
Arranged Cropped(NodeConversion& node, Arranged x,
                 const std::vector<DimPadding>& padded) {
  for (const auto& [dim, before, after] : padded) {
    const int64_t from_begin = std::max<int64_t>(-before, 0);
    const int64_t from_end = std::max<int64_t>(-after, 0);
    if (from_begin + from_end == 0 || !x.tensor.is_valid()) continue;
    x = SliceOf(node, x, dim, from_begin,
                x.dims.dim(dim) - from_begin - from_end);
  }
  return x;
}

Arranged PaddedWithValue(NodeConversion& node, Arranged x,
                         const std::vector<DimPadding>& padded, double value) {
  AttributeValue::List paddings(static_cast<size_t>(x.tensor.shape().rank()),
                                Sizes{0, 0});
  bool grows = false;
  for (const auto& [dim, before, after] : padded) {
    const Sizes amounts = {std::max<int64_t>(before, 0),
                           std::max<int64_t>(after, 0)};
    paddings[static_cast<size_t>(*x.OnlyAxis(dim))] = amounts;
    SetDim(x, dim, x.dims.dim(dim) + amounts[0] + amounts[1]);
    grows |= amounts[0] + amounts[1] > 0;
  }
  if (!grows) return x;
  Attributes attributes = {{"paddings", paddings}};
  if (value != 0) attributes.Set("value", value);
  x.tensor = node.Add("Pad", {x.tensor}, attributes);
  return x;
}

Arranged PaddedFromItself(NodeConversion& node, Arranged x,
                          const std::vector<DimPadding>& padded, PadMode mode) {
  for (const auto& [dim, before, after] : padded) {
    if (before <= 0 && after <= 0) continue;
    const int64_t n = x.dims.dim(dim);
    Sizes indices;
    for (int64_t i = -std::max<int64_t>(before, 0);
         i < n + std::max<int64_t>(after, 0); ++i) {
      indices.push_back(PaddedFrom(mode, i, n));
    }
    const auto size = static_cast<int64_t>(indices.size());
    x.tensor =
        GatherRows(node, x.tensor, IndexList(node, indices, Shape({size})),
                   *x.OnlyAxis(dim));
    SetDim(x, dim, size);
  }
  return x;
}

absl::Status ConvertPad(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t choice,
      node.node().Choice("mode", {"constant", "reflect", "edge", "wrap"}));
  const auto mode = static_cast<PadMode>(choice);
  SPILLWAY_ASSIGN_OR_RETURN(const Padding padding, ReadPadding(node));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<DimPadding> padded,
                            PaddedDims(node, padding, mode));
  if (padded.empty()) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  std::vector<int> dims;
  for (const DimPadding& dim : padded) {
    dims.push_back(dim.dim);
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, WithAxes(node, 0, dims));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  x = Cropped(node, x, padded);
  if (!x.tensor.is_valid()) return absl::OkStatus();
  x = mode == PadMode::kConstant
          ? PaddedWithValue(node, x, padded, padding.value)
          : PaddedFromItself(node, x, padded, mode);
  node.Set(0, x);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 1> kPadOps = {{
    {"Pad", 1, 4, ConvertPad},
}};

}  // namespace

std::span<const OpEntry> PadOps() { return kPadOps; }

}  // namespace spillway::onnx_model

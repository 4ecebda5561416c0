// Ops that say how elements are to be seen: most change the note on a value's
// tensor and add no node (onnx_model/layout/arranged.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/status_macros.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

absl::Status SetReshaped(NodeConversion& node, const Sizes& dims) {
  SPILLWAY_RETURN_IF_ERROR(CheckDims(dims));
  if (CountOf(dims) != CountOf(node.dims(0))) {
    return InvalidArgument(fmt::format("its input is {}, its output {}",
                                       Shape(node.dims(0)).ToString(),
                                       Shape(dims).ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  node.Set(0, Reshaped(node.scope(), x, Shape(dims)));
  return absl::OkStatus();
}

// A file with a fixed batch writes it into the targets of its Reshapes.
void Rebatch(const NodeConversion& node, Sizes& target) {
  const ImportState& state = node.state();
  if (state.file_batch == 0 || state.file_batch == state.batch_size) return;
  if (!target.empty() && target[0] == state.file_batch &&
      !node.dims(0).empty() && node.dims(0)[0] == state.batch_size) {
    target[0] = state.batch_size;
  }
}

absl::Status ConvertReshape(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Sizes target, node.IntegersInput(1));
  SPILLWAY_ASSIGN_OR_RETURN(const bool allows_zero,
                            node.node().Bool("allowzero", false));
  Rebatch(node, target);
  const Sizes& dims = node.dims(0);
  int unknown = -1;
  int64_t known = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !allows_zero && i < dims.size()) target[i] = dims[i];
    if (target[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
      continue;
    }
    if (target[i] < 1 || target[i] > CountOf(dims) / known) {
      return InvalidArgument(fmt::format("its input is {}, its target {}",
                                         Shape(dims).ToString(),
                                         Shape(target).ToString()));
    }
    known *= target[i];
  }
  if (unknown >= 0)
    target[static_cast<size_t>(unknown)] = CountOf(dims) / known;
  return SetReshaped(node, target);
}

absl::Status ConvertFlatten(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 1));
  const int rank = node.rank(0);
  const int64_t axis = stated < 0 ? stated + rank : stated;
  if (axis < 0 || axis > rank) {
    return InvalidArgument(
        fmt::format("axis {} of a value of {} dimensions", stated, rank));
  }
  const Sizes& dims = node.dims(0);
  const int64_t rows = CountOf({dims.begin(), dims.begin() + axis});
  return SetReshaped(node, {rows, CountOf(dims) / rows});
}

// Of Squeeze, Unsqueeze: an attribute below opset 13, an input from there on.
absl::StatusOr<std::optional<Sizes>> ReadAxes(NodeConversion& node) {
  if (node.opset() < 13) return node.node().Ints("axes");
  if (!node.has(1)) return std::optional<Sizes>();
  SPILLWAY_ASSIGN_OR_RETURN(Sizes axes, node.IntegersInput(1));
  return std::optional<Sizes>(std::move(axes));
}

absl::Status ConvertSqueeze(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated, ReadAxes(node));
  const Sizes& dims = node.dims(0);
  std::vector<int> axes;
  if (stated.has_value()) {
    SPILLWAY_ASSIGN_OR_RETURN(axes, node.Axes(*stated, node.rank(0)));
  } else {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 1) axes.push_back(static_cast<int>(i));
    }
  }
  Sizes rest;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::ranges::find(axes, static_cast<int>(i)) == axes.end()) {
      rest.push_back(dims[i]);
    }
  }
  return SetReshaped(node, rest);
}

absl::Status ConvertUnsqueeze(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated, ReadAxes(node));
  if (!stated.has_value()) return InvalidArgument("has no axes");
  const size_t rank_of_result = node.dims(0).size() + stated->size();
  if (rank_of_result > static_cast<size_t>(Shape::kMaxRank)) {
    return InvalidArgument(fmt::format("makes {} dimensions", rank_of_result));
  }
  const auto rank = static_cast<int>(rank_of_result);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> axes,
                            node.Axes(*stated, rank));
  Sizes dims = node.dims(0);
  std::vector<int> sorted = axes;
  std::ranges::sort(sorted);
  for (const int axis : sorted) dims.insert(dims.begin() + axis, 1);
  return SetReshaped(node, dims);
}

absl::Status ConvertTranspose(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated,
                            node.node().Ints("perm"));
  Order order = Identity(node.rank(0));
  std::ranges::reverse(order);
  if (stated.has_value()) {
    if (stated->size() != order.size()) {
      return InvalidArgument(fmt::format("perm has {} entries for {}",
                                         stated->size(),
                                         Shape(node.dims(0)).ToString()));
    }
    SPILLWAY_ASSIGN_OR_RETURN(order, node.Axes(*stated, node.rank(0)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  node.Set(0, Permute(x, order));
  return absl::OkStatus();
}

// Blocks of pixels to channels and back: a Reshape, a Transpose, a Reshape.
absl::Status Rearrange(NodeConversion& node, const Sizes& parts,
                       const Order& order, const Sizes& dims) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const NameScope scope = node.scope();
  const Arranged blocks = Permute(Reshaped(scope, x, Shape(parts)), order);
  node.Set(0, Reshaped(scope, blocks, Shape(dims)));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ReadBlock(const NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t block,
                            node.node().Int("blocksize", 0));
  if (block < 1 || block > (1 << 20)) {
    return InvalidArgument(fmt::format("blocksize is {}", block));
  }
  if (node.rank(0) != 4) {
    return InvalidArgument(fmt::format("its input is {}, not [N, C, H, W]",
                                       Shape(node.dims(0)).ToString()));
  }
  return block;
}

absl::Status ConvertDepthToSpace(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t b, ReadBlock(node));
  SPILLWAY_ASSIGN_OR_RETURN(const std::string mode,
                            node.node().Text("mode", "DCR"));
  const Sizes d = node.dims(0);
  if (d[1] % (b * b) != 0) {
    return InvalidArgument(
        fmt::format("{} channels are no multiple of {}", d[1], b * b));
  }
  const int64_t channels = d[1] / (b * b);
  const Sizes dims = {d[0], channels, d[2] * b, d[3] * b};
  if (mode == "CRD") {
    return Rearrange(node, {d[0], channels, b, b, d[2], d[3]},
                     {0, 1, 4, 2, 5, 3}, dims);
  }
  if (mode != "DCR") return InvalidArgument(fmt::format("mode is '{}'", mode));
  return Rearrange(node, {d[0], b, b, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2},
                   dims);
}

absl::Status ConvertSpaceToDepth(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t b, ReadBlock(node));
  const Sizes d = node.dims(0);
  if (d[2] % b != 0 || d[3] % b != 0) {
    return InvalidArgument(
        fmt::format("{} has no blocks of {} x {}", Shape(d).ToString(), b, b));
  }
  return Rearrange(node, {d[0], d[1], d[2] / b, b, d[3] / b, b},
                   {0, 3, 5, 1, 2, 4},
                   {d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

// NumPy: dimensions of 1 are repeated, in the value or in the target.
absl::Status ConvertExpand(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Sizes target, node.IntegersInput(1));
  Rebatch(node, target);
  const Sizes& dims = node.dims(0);
  Sizes result(std::max(dims.size(), target.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t own = i < dims.size() ? dims[dims.size() - 1 - i] : 1;
    const int64_t wanted =
        i < target.size() ? target[target.size() - 1 - i] : 1;
    if (wanted < 1 || (own != wanted && own != 1 && wanted != 1)) {
      return InvalidArgument(fmt::format("its input is {}, its target {}",
                                         Shape(dims).ToString(),
                                         Shape(target).ToString()));
    }
    result[result.size() - 1 - i] = std::max(own, wanted);
  }
  SPILLWAY_RETURN_IF_ERROR(CheckDims(result));
  if (CountOf(result) == CountOf(dims)) return SetReshaped(node, result);
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  const Tensor ordered = Ordered(node.scope(), x, Identity(x.rank()));
  const Tensor y =
      node.Add("BroadcastTo", {ordered}, {{"shape", Shape(result)}});
  if (y.is_valid()) node.Set(0, AsIs(y));
  return absl::OkStatus();
}

// [a, b] repeated (r, s) times: [1, a, 1, b] as [r, a, s, b].
absl::Status ConvertTile(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes repeats, node.IntegersInput(1));
  const Sizes dims = node.dims(0);
  if (repeats.size() != dims.size()) {
    return InvalidArgument(fmt::format("has {} repeats for {}", repeats.size(),
                                       Shape(dims).ToString()));
  }
  Sizes before;
  Sizes after;
  Sizes result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 1 || repeats[i] > (int64_t{1} << 46) / dims[i]) {
      return InvalidArgument(
          fmt::format("repeats a dimension {} times", repeats[i]));
    }
    if (repeats[i] > 1) {
      before.push_back(1);
      after.push_back(repeats[i]);
    }
    before.push_back(dims[i]);
    after.push_back(dims[i]);
    result.push_back(dims[i] * repeats[i]);
  }
  if (result == dims) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  SPILLWAY_RETURN_IF_ERROR(CheckDims(result));
  if (after.size() > static_cast<size_t>(Shape::kMaxRank)) {
    return Unimplemented("repeats of so many dimensions");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  const Tensor ordered =
      Ordered(node.scope(), Reshaped(node.scope(), x, Shape(before)),
              Identity(static_cast<int>(before.size())));
  const Tensor y =
      node.Add("BroadcastTo", {ordered}, {{"shape", Shape(after)}});
  if (y.is_valid()) node.Set(0, Reshaped(node.scope(), AsIs(y), Shape(result)));
  return absl::OkStatus();
}

// Dimensions are static: Shape and Size are constants.
absl::Status ConvertShapeOf(NodeConversion& node) {
  const int64_t rank = node.rank(0);
  SPILLWAY_ASSIGN_OR_RETURN(int64_t start, node.node().Int("start", 0));
  SPILLWAY_ASSIGN_OR_RETURN(int64_t end, node.node().Int("end", rank));
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  const Sizes& dims = node.dims(0);
  node.Set(0, MakeIntegers({dims.begin() + start, dims.begin() + end}));
  return absl::OkStatus();
}

absl::Status ConvertSize(NodeConversion& node) {
  node.Set(0, MakeConstant(ElementType::kInt64, {},
                           Integers{CountOf(node.dims(0))}));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 11> kShapeOps = {{
    {"DepthToSpace", 1, 1, ConvertDepthToSpace},
    {"Expand", 2, 2, ConvertExpand},
    {"Flatten", 1, 1, ConvertFlatten},
    {"Reshape", 2, 2, ConvertReshape},
    {"Shape", 1, 1, ConvertShapeOf},
    {"Size", 1, 1, ConvertSize},
    {"SpaceToDepth", 1, 1, ConvertSpaceToDepth},
    {"Squeeze", 1, 2, ConvertSqueeze},
    {"Tile", 2, 2, ConvertTile},
    {"Transpose", 1, 1, ConvertTranspose},
    {"Unsqueeze", 1, 2, ConvertUnsqueeze},
}};

}  // namespace

std::span<const OpEntry> ShapeOps() { return kShapeOps; }

}  // namespace spillway::onnx_model

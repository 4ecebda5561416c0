// Elements at indices: Gather, GatherElements, GatherND.
#include <fmt/format.h>

#include <array>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/classes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// The dimensions of the result: those of the indices in place of `axis`.
Sizes GatheredDims(const Sizes& dims, const Sizes& indices, int axis) {
  Sizes result = dims;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, indices.begin(), indices.end());
  return result;
}

// One index that is known: a slice.
absl::Status GatherOne(NodeConversion& node, int axis, int64_t index) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t begin,
      IndexFromZero(index, node.dims(0)[static_cast<size_t>(axis)]));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, WithAxes(node, 0, {axis}));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Arranged part = SliceOf(node, x, axis, begin, 1);
  if (!part.tensor.is_valid()) return absl::OkStatus();
  const Sizes dims = GatheredDims(node.dims(0), node.dims(1), axis);
  node.Set(0, Reshaped(node.scope(), part, Shape(dims)));
  return absl::OkStatus();
}

// Indices that are constant, counted from the start.
absl::StatusOr<Tensor> ConstantIndices(NodeConversion& node, int64_t size) {
  SPILLWAY_ASSIGN_OR_RETURN(Sizes indices, node.IntegersInput(1));
  for (int64_t& index : indices) {
    SPILLWAY_ASSIGN_OR_RETURN(index, IndexFromZero(index, size));
  }
  return IndexList(node, indices, Shape(node.dims(1)));
}

// Reals have the precision of activations.
void SetGathered(NodeConversion& node, Tensor y) {
  const DType dtype = node.state().options().dtype;
  if (y.is_valid() && IsFloating(node.type(0)) && y.dtype() != dtype) {
    y = node.Helper("Cast", {y}, {{"dtype", dtype}});
  }
  if (y.is_valid()) node.Set(0, AsIs(y));
}

absl::Status ConvertGather(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  if (IsFloating(node.type(1))) {
    return InvalidArgument(
        fmt::format("its indices are of {}", ElementTypeName(node.type(1))));
  }
  Tensor indices;
  if (node.IsConstant(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes values, node.IntegersInput(1));
    if (values.size() == 1) return GatherOne(node, axis, values[0]);
    SPILLWAY_ASSIGN_OR_RETURN(
        indices,
        ConstantIndices(node, node.dims(0)[static_cast<size_t>(axis)]));
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(indices,
                              node.InputInOrder(1, Identity(node.rank(1))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor table,
                            node.InputInOrder(0, Identity(node.rank(0))));
  SetGathered(node, GatherRows(node, table, indices, axis));
  return absl::OkStatus();
}

// The last dimension of the indices has an index for each of the first
// dimensions of the data, which are one dimension then.
absl::Status ConvertGatherND(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t batch_dims,
                            node.node().Int("batch_dims", 0));
  if (batch_dims != 0) return Unimplemented("batch_dims");
  SPILLWAY_ASSIGN_OR_RETURN(const IndexedRows indexed,
                            FindIndexedRows(node.dims(0), node.dims(1)));
  Tensor rows;
  if (node.IsConstant(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes indices, node.IntegersInput(1));
    SPILLWAY_RETURN_IF_ERROR(
        CheckConstantSize(static_cast<int64_t>(indices.size())));
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes numbers,
                              RowsAt(indices, indexed.first));
    rows = IndexList(node, numbers, Shape(indexed.places));
  } else if (indexed.first.size() == 1) {
    SPILLWAY_ASSIGN_OR_RETURN(rows,
                              node.InputInOrder(1, Identity(node.rank(1))));
    rows = node.Helper("Reshape", {rows}, {{"shape", Shape(indexed.places)}});
  } else {
    return Unimplemented("computed indices of several dimensions");
  }
  SPILLWAY_ASSIGN_OR_RETURN(Tensor table,
                            node.InputInOrder(0, Identity(node.rank(0))));
  if (indexed.first.size() > 1) {
    Sizes dims = indexed.row;
    dims.insert(dims.begin(), CountOf(indexed.first));
    table = node.Helper("Reshape", {table}, {{"shape", Shape(dims)}});
  }
  SetGathered(node, GatherRows(node, table, rows, 0));
  return absl::OkStatus();
}

// The first elements of each dimension but `axis`, where there are more than in
// `dims`; `axis` last.
absl::StatusOr<Tensor> Corner(NodeConversion& node, const Sizes& dims, int axis,
                              const Order& order) {
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, node.InputInOrder(0, order));
  if (!x.is_valid()) return x;
  Sizes sizes = x.shape().dims();
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    sizes[i] = dims[static_cast<size_t>(order[i])];
    if (sizes[i] > x.shape().dims()[i]) {
      return InvalidArgument(fmt::format(
          "indices {} are more than the input's {} beside axis {}",
          Shape(dims).ToString(), Shape(node.dims(0)).ToString(), axis));
    }
  }
  if (Shape(sizes) == x.shape()) return x;
  return node.Helper("Slice", {x},
                     {{"begin", Sizes(sizes.size(), 0)}, {"size", sizes}});
}

// Of all elements along the axis, the one whose place is the index.
absl::Status ConvertGatherElements(NodeConversion& node) {
  const int rank = node.rank(0);
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, rank));
  if (!IsFloating(node.type(0)) || !IsInteger(node.type(1)) ||
      node.rank(1) != rank) {
    return Unimplemented(fmt::format(
        "{} with indices {} of {} dimensions", ElementTypeName(node.type(0)),
        ElementTypeName(node.type(1)), node.rank(1)));
  }
  Order order = Identity(rank);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  SPILLWAY_ASSIGN_OR_RETURN(Tensor x, Corner(node, node.dims(1), axis, order));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor indices, node.InputInOrder(1, order));
  if (!x.is_valid() || !indices.is_valid()) return absl::OkStatus();
  const int64_t n = x.shape().dim(-1);
  SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(n));
  Sizes dims = x.shape().dims();
  dims.insert(dims.end() - 1, 1);
  x = node.Helper("Reshape", {x}, {{"shape", Shape(dims)}});
  const Tensor is_place = IsPlace(node, indices, n);
  const Tensor chosen = node.Helper("Select", {is_place, x, node.Number(0, x)});
  const Tensor y = node.Add("Sum", {chosen}, {{"axes", Sizes{-1}}});
  if (y.is_valid()) node.Set(0, InOrder(y, order));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 3> kGatherOps = {{
    {"Gather", 2, 2, ConvertGather},
    {"GatherElements", 2, 2, ConvertGatherElements},
    {"GatherND", 2, 2, ConvertGatherND},
}};

}  // namespace

std::span<const OpEntry> GatherOps() { return kGatherOps; }

}  // namespace spillway::onnx_model

// What can be computed at import: the shapes, indices and masks that exporters
// compute in the graph, since shapes are static here. Plain loops over
// constants; reals are computed as doubles and rounded to their type.
#ifndef SPILLWAY_ONNX_MODEL_FOLD_FOLD_H_
#define SPILLWAY_ONNX_MODEL_FOLD_FOLD_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/file/constant.h"
#include "onnx_model/file/node_view.h"

namespace spillway::onnx_model {

// Elements of one folded tensor: 64 MiB of float32 or 128 MiB of INT64.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 24;

// A node whose inputs are all constants. Borrowed for the call.
struct FoldContext {
  const NodeView& node;
  std::vector<const Constant*> inputs = {};  // null: left out

  bool has(size_t input) const {
    return input < inputs.size() && inputs[input] != nullptr;
  }
  // Errors: INVALID_ARGUMENT if the input is left out.
  absl::StatusOr<const Constant*> Input(size_t input) const;
  // The same, of integers.
  absl::StatusOr<const Integers*> IntegersOf(size_t input) const;
};

using Constants = std::vector<Constant>;

// The node's outputs. Errors: INVALID_ARGUMENT for inputs that do not fit;
// RESOURCE_EXHAUSTED for a result that is too large to be kept here.
using Folder = absl::StatusOr<Constants> (*)(const FoldContext& context);

// Null for an op that is not folded.
Folder FindFolder(std::string_view op);

// By family, each in the file fold_<family>.cc.
Folder FindArithmetic(std::string_view op);
Folder FindGathering(std::string_view op);
Folder FindShaping(std::string_view op);
Folder FindReduction(std::string_view op);

// `axis` from 0 on. Errors: INVALID_ARGUMENT if there is none such.
absl::StatusOr<size_t> FoldedAxis(int64_t axis, size_t rank);

// Number of elements. Errors: those of CountElements; RESOURCE_EXHAUSTED above
// kMaxFoldedElements.
absl::StatusOr<int64_t> CountFolded(const std::vector<int64_t>& dims);

// NumPy's common shape. Errors: INVALID_ARGUMENT if there is none.
absl::StatusOr<std::vector<int64_t>> CommonDims(const std::vector<int64_t>& a,
                                                const std::vector<int64_t>& b);

// Steps between neighbours of each dimension in a row-major tensor.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims);

// `index` from 0 on; a negative one counts from the end of `size`. Errors:
// INVALID_ARGUMENT if it is out of range.
absl::StatusOr<int64_t> IndexFromZero(int64_t index, int64_t size);

// How GatherND and ScatterND see a tensor: the last dimension of the indices
// has an index for each of the tensor's `first` dimensions, which number rows.
struct IndexedRows {
  std::vector<int64_t> first = {};
  std::vector<int64_t> row = {};     // the tensor's other dimensions
  std::vector<int64_t> places = {};  // the indices' other dimensions
};
// Errors: INVALID_ARGUMENT if the shapes do not fit.
absl::StatusOr<IndexedRows> FindIndexedRows(
    const std::vector<int64_t>& dims, const std::vector<int64_t>& index_dims);

// Numbers of rows: `indices` has an index for each of the dimensions `of`, at
// least one, for each row; negative ones count from the end. Errors:
// INVALID_ARGUMENT for an index out of range.
absl::StatusOr<std::vector<int64_t>> RowsAt(const std::vector<int64_t>& indices,
                                            const std::vector<int64_t>& of);

// Calls visit(place) for all places of `dims` in row-major order.
void ForEachPlace(
    const std::vector<int64_t>& dims,
    const std::function<void(const std::vector<int64_t>&)>& visit);

// The constant of `dims` whose element i is element source[i] of `x`.
Constant Select(const Constant& x, std::vector<int64_t> dims,
                const std::vector<int64_t>& source);

// The elements of `x` as `type` has them, which is known (SizeOf).
Constant CastTo(const Constant& x, ElementType type);

// `x` repeated to `dims`, which its own dimensions can be.
Constant BroadcastTo(const Constant& x, const std::vector<int64_t>& dims);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FOLD_FOLD_H_

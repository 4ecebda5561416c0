#include "onnx_model/fold/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "graph/shape.h"
#include "onnx_model/file/model_file.h"

namespace spillway::onnx_model {

absl::StatusOr<const Constant*> FoldContext::Input(size_t input) const {
  if (has(input)) return inputs[input];
  return InvalidArgument(fmt::format("has no input {}", input));
}

absl::StatusOr<const Integers*> FoldContext::IntegersOf(size_t input) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* constant, Input(input));
  if (!constant->is_real()) return &constant->integers();
  return InvalidArgument(fmt::format("input {} is of {}, not of integers",
                                     input, ElementTypeName(constant->type)));
}

absl::StatusOr<size_t> FoldedAxis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  const int64_t from_zero = axis < 0 ? axis + signed_rank : axis;
  if (from_zero < 0 || from_zero >= signed_rank) {
    return InvalidArgument(
        fmt::format("axis {} of a value of {} dimensions", axis, rank));
  }
  return static_cast<size_t>(from_zero);
}

Folder FindFolder(std::string_view op) {
  for (const auto find :
       {FindArithmetic, FindGathering, FindShaping, FindReduction}) {
    if (const Folder folder = find(op)) return folder;
  }
  return nullptr;
}

absl::StatusOr<int64_t> CountFolded(const std::vector<int64_t>& dims) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t elements, CountElements(dims));
  if (elements > kMaxFoldedElements) {
    return ResourceExhausted(fmt::format("{} elements", elements));
  }
  return elements;
}

absl::StatusOr<std::vector<int64_t>> CommonDims(const std::vector<int64_t>& a,
                                                const std::vector<int64_t>& b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return InvalidArgument(fmt::format("its inputs are {} and {}",
                                         Shape(a).ToString(),
                                         Shape(b).ToString()));
    }
    dims[dims.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return dims;
}

std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return strides;
}

absl::StatusOr<int64_t> IndexFromZero(int64_t index, int64_t size) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  return InvalidArgument(
      fmt::format("index {} of a dimension of {}", index, size));
}

absl::StatusOr<IndexedRows> FindIndexedRows(
    const std::vector<int64_t>& dims, const std::vector<int64_t>& index_dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (index_dims.empty() || index_dims.back() < 1 || index_dims.back() > rank) {
    return InvalidArgument(fmt::format("indices of {} into {}",
                                       Shape(index_dims).ToString(),
                                       Shape(dims).ToString()));
  }
  const auto split = dims.begin() + index_dims.back();
  return IndexedRows{.first = {dims.begin(), split},
                     .row = {split, dims.end()},
                     .places = {index_dims.begin(), index_dims.end() - 1}};
}

absl::StatusOr<std::vector<int64_t>> RowsAt(const std::vector<int64_t>& indices,
                                            const std::vector<int64_t>& of) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i + of.size() <= indices.size(); i += of.size()) {
    int64_t row = 0;
    for (size_t k = 0; k < of.size(); ++k) {
      SPILLWAY_ASSIGN_OR_RETURN(const int64_t index,
                                IndexFromZero(indices[i + k], of[k]));
      row = row * of[k] + index;
    }
    rows.push_back(row);
  }
  return rows;
}

void ForEachPlace(
    const std::vector<int64_t>& dims,
    const std::function<void(const std::vector<int64_t>&)>& visit) {
  if (std::ranges::find(dims, 0) != dims.end()) return;
  std::vector<int64_t> place(dims.size(), 0);
  while (true) {
    visit(place);
    size_t dim = dims.size();
    while (dim > 0 && ++place[dim - 1] == dims[dim - 1]) place[--dim] = 0;
    if (dim == 0) return;
  }
}

Constant Select(const Constant& x, std::vector<int64_t> dims,
                const std::vector<int64_t>& source) {
  const auto pick = [&](const auto& from) {
    auto to = from;
    to.clear();
    to.reserve(source.size());
    for (const int64_t i : source) to.push_back(from[static_cast<size_t>(i)]);
    return to;
  };
  Constant result = {.type = x.type, .dims = std::move(dims)};
  if (x.is_real()) {
    result.elements = pick(x.reals());
  } else {
    result.elements = pick(x.integers());
  }
  return result;
}

Constant BroadcastTo(const Constant& x, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> strides = StridesOf(x.dims);
  const size_t first = dims.size() - x.dims.size();
  std::vector<int64_t> source;
  ForEachPlace(dims, [&](const std::vector<int64_t>& place) {
    int64_t at = 0;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      if (x.dims[i] != 1) at += place[first + i] * strides[i];
    }
    source.push_back(at);
  });
  return Select(x, dims, source);
}

}  // namespace spillway::onnx_model

// Ops that read or write elements at indices.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/shape.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/layout/arranged.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

absl::StatusOr<Constants> FoldGather(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* indices, context.IntegersOf(1));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, context.node.Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const size_t axis,
                            FoldedAxis(stated, x->dims.size()));
  const Sizes outer(x->dims.begin(),
                    x->dims.begin() + static_cast<int64_t>(axis));
  const Sizes inner(x->dims.begin() + static_cast<int64_t>(axis) + 1,
                    x->dims.end());
  Sizes dims = outer;
  const Sizes& middle = context.inputs[1]->dims;
  dims.insert(dims.end(), middle.begin(), middle.end());
  dims.insert(dims.end(), inner.begin(), inner.end());
  SPILLWAY_RETURN_IF_ERROR(CountFolded(dims).status());
  const int64_t size = x->dims[axis];
  Sizes source;
  for (int64_t o = 0; o < CountOf(outer); ++o) {
    for (const int64_t index : *indices) {
      if (index < -size || index >= size) {
        return InvalidArgument(
            fmt::format("index {} of a dimension of {}", index, size));
      }
      const int64_t row = o * size + (index < 0 ? index + size : index);
      for (int64_t i = 0; i < CountOf(inner); ++i) {
        source.push_back(row * CountOf(inner) + i);
      }
    }
  }
  return Constants{Select(*x, dims, source)};
}

// Rows of x at the places that input 1 has in its last dimension: an index for
// each of the first dimensions.
struct RowsOf {
  Sizes rows = {};
  Sizes places = {};  // dimensions of the indices without the last
  Sizes row_dims = {};
};

absl::StatusOr<RowsOf> FindRows(const FoldContext& context, const Constant& x) {
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* indices, context.IntegersOf(1));
  RowsOf found = {.places = context.inputs[1]->dims};
  const auto rank = static_cast<int64_t>(x.dims.size());
  if (found.places.empty() || found.places.back() < 1 ||
      found.places.back() > rank) {
    return InvalidArgument(fmt::format("indices of {} into {}",
                                       Shape(found.places).ToString(),
                                       Shape(x.dims).ToString()));
  }
  const auto split = x.dims.begin() + found.places.back();
  found.places.pop_back();
  found.row_dims = Sizes(split, x.dims.end());
  SPILLWAY_ASSIGN_OR_RETURN(found.rows,
                            RowsAt(*indices, Sizes(x.dims.begin(), split)));
  return found;
}

absl::StatusOr<Constants> FoldGatherNd(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t batch_dims,
                            context.node.Int("batch_dims", 0));
  if (batch_dims != 0) return ResourceExhausted("batch_dims");
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const RowsOf found, FindRows(context, *x));
  Sizes dims = found.places;
  dims.insert(dims.end(), found.row_dims.begin(), found.row_dims.end());
  SPILLWAY_RETURN_IF_ERROR(CountFolded(dims).status());
  const int64_t width = CountOf(found.row_dims);
  Sizes source;
  for (const int64_t row : found.rows) {
    for (int64_t i = 0; i < width; ++i) source.push_back(row * width + i);
  }
  return Constants{Select(*x, dims, source)};
}

template <typename T>
void Overwrite(const RowsOf& found, const std::vector<T>& updates,
               std::vector<T>& elements) {
  const int64_t width = CountOf(found.row_dims);
  auto from = updates.begin();
  for (const int64_t row : found.rows) {
    std::copy_n(from, width, elements.begin() + row * width);
    from += width;
  }
}

absl::StatusOr<Constants> FoldScatterNd(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string reduction,
                            context.node.Text("reduction", "none"));
  if (reduction != "none") return ResourceExhausted("a reduction");
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* updates, context.Input(2));
  SPILLWAY_ASSIGN_OR_RETURN(const RowsOf found, FindRows(context, *x));
  Sizes dims = found.places;
  dims.insert(dims.end(), found.row_dims.begin(), found.row_dims.end());
  if (updates->dims != dims || updates->is_real() != x->is_real()) {
    return InvalidArgument(fmt::format("updates of {}, not {}",
                                       Shape(updates->dims).ToString(),
                                       Shape(dims).ToString()));
  }
  Constant result = *x;
  if (x->is_real()) {
    Overwrite(found, updates->reals(), std::get<Reals>(result.elements));
  } else {
    Overwrite(found, updates->integers(), std::get<Integers>(result.elements));
  }
  return Constants{std::move(result)};
}

}  // namespace

Folder FindGathering(std::string_view op) {
  static const std::map<std::string_view, Folder> kOps = {
      {"Gather", FoldGather},
      {"GatherND", FoldGatherNd},
      {"ScatterND", FoldScatterNd},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

}  // namespace spillway::onnx_model

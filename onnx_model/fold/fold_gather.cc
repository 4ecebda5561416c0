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
    for (const int64_t stated_index : *indices) {
      SPILLWAY_ASSIGN_OR_RETURN(const int64_t index,
                                IndexFromZero(stated_index, size));
      const int64_t row = o * size + index;
      for (int64_t i = 0; i < CountOf(inner); ++i) {
        source.push_back(row * CountOf(inner) + i);
      }
    }
  }
  return Constants{Select(*x, dims, source)};
}

// Rows of x at the places that input 1 has.
struct RowsOf {
  Sizes rows = {};
  int64_t width = 0;  // elements of a row
  Sizes dims = {};    // of all these rows together
};

absl::StatusOr<RowsOf> FindRows(const FoldContext& context, const Constant& x) {
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* indices, context.IntegersOf(1));
  SPILLWAY_ASSIGN_OR_RETURN(const IndexedRows indexed,
                            FindIndexedRows(x.dims, context.inputs[1]->dims));
  RowsOf found = {.width = CountOf(indexed.row), .dims = indexed.places};
  found.dims.insert(found.dims.end(), indexed.row.begin(), indexed.row.end());
  SPILLWAY_ASSIGN_OR_RETURN(found.rows, RowsAt(*indices, indexed.first));
  return found;
}

absl::StatusOr<Constants> FoldGatherNd(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t batch_dims,
                            context.node.Int("batch_dims", 0));
  if (batch_dims != 0) return ResourceExhausted("batch_dims");
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const RowsOf found, FindRows(context, *x));
  SPILLWAY_RETURN_IF_ERROR(CountFolded(found.dims).status());
  Sizes source;
  for (const int64_t row : found.rows) {
    for (int64_t i = 0; i < found.width; ++i) {
      source.push_back(row * found.width + i);
    }
  }
  return Constants{Select(*x, found.dims, source)};
}

template <typename T>
void Overwrite(const RowsOf& found, const std::vector<T>& updates,
               std::vector<T>& elements) {
  auto from = updates.begin();
  for (const int64_t row : found.rows) {
    std::copy_n(from, found.width, elements.begin() + row * found.width);
    from += found.width;
  }
}

absl::StatusOr<Constants> FoldScatterNd(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string reduction,
                            context.node.Text("reduction", "none"));
  if (reduction != "none") return ResourceExhausted("a reduction");
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* updates, context.Input(2));
  SPILLWAY_ASSIGN_OR_RETURN(const RowsOf found, FindRows(context, *x));
  if (updates->dims != found.dims || updates->is_real() != x->is_real()) {
    return InvalidArgument(fmt::format("updates of {}, not {}",
                                       Shape(updates->dims).ToString(),
                                       Shape(found.dims).ToString()));
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

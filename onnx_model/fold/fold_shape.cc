// Ops that move, repeat or make elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "graph/shape.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/layout/arranged.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

Constant WithDims(const Constant& x, Sizes dims) {
  Constant result = x;
  result.dims = std::move(dims);
  return result;
}

absl::StatusOr<Constants> FoldIdentity(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  return Constants{*x};
}

absl::StatusOr<Constants> FoldConcat(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* first, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, context.node.Int("axis", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const size_t axis,
                            FoldedAxis(stated, first->dims.size()));
  Sizes dims = first->dims;
  dims[axis] = 0;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(i));
    if (x->dims.size() != dims.size() || x->is_real() != first->is_real()) {
      return InvalidArgument("has inputs that do not fit");
    }
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      if (dim != axis && x->dims[dim] != dims[dim]) {
        return InvalidArgument("has inputs that do not fit");
      }
    }
    dims[axis] += x->dims[axis];
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t elements, CountFolded(dims));
  const int64_t inner =
      CountOf({dims.begin() + static_cast<int64_t>(axis) + 1, dims.end()});
  const int64_t outer =
      CountOf({dims.begin(), dims.begin() + static_cast<int64_t>(axis)});
  Reals reals;
  Integers integers;
  for (int64_t o = 0; o < outer; ++o) {
    for (const Constant* x : context.inputs) {
      const int64_t row = x->dims[axis] * inner;
      for (int64_t i = o * row; i < (o + 1) * row; ++i) {
        if (x->is_real()) {
          reals.push_back(x->reals()[static_cast<size_t>(i)]);
        } else {
          integers.push_back(x->integers()[static_cast<size_t>(i)]);
        }
      }
    }
  }
  if (elements != static_cast<int64_t>(reals.size() + integers.size())) {
    return InvalidArgument("has inputs that do not fit");
  }
  Constant result = {.type = first->type, .dims = dims};
  if (first->is_real()) {
    result.elements = std::move(reals);
  } else {
    result.elements = std::move(integers);
  }
  return Constants{std::move(result)};
}

// Axes of Squeeze and Unsqueeze: an input or an attribute.
absl::StatusOr<std::optional<Sizes>> AxesOf(const FoldContext& context) {
  if (!context.has(1)) return context.node.Ints("axes");
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* axes, context.IntegersOf(1));
  return std::optional<Sizes>(*axes);
}

absl::StatusOr<Constants> FoldSqueeze(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated, AxesOf(context));
  std::vector<bool> goes(x->dims.size());
  if (stated.has_value()) {
    for (const int64_t axis : *stated) {
      SPILLWAY_ASSIGN_OR_RETURN(const size_t at, FoldedAxis(axis, goes.size()));
      goes[at] = true;
    }
  }
  Sizes rest;
  for (size_t i = 0; i < goes.size(); ++i) {
    const bool is_gone = stated.has_value() ? goes[i] : x->dims[i] == 1;
    if (is_gone && x->dims[i] != 1) {
      return InvalidArgument(
          fmt::format("squeezes a dimension of {}", x->dims[i]));
    }
    if (!is_gone) rest.push_back(x->dims[i]);
  }
  return Constants{WithDims(*x, rest)};
}

absl::StatusOr<Constants> FoldUnsqueeze(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated, AxesOf(context));
  if (!stated.has_value()) return InvalidArgument("has no axes");
  const size_t rank = x->dims.size() + stated->size();
  if (rank > static_cast<size_t>(Shape::kMaxRank)) {
    return InvalidArgument(fmt::format("makes {} dimensions", rank));
  }
  std::vector<bool> is_new(rank);
  for (const int64_t axis : *stated) {
    SPILLWAY_ASSIGN_OR_RETURN(const size_t at, FoldedAxis(axis, rank));
    if (is_new[at]) return InvalidArgument("lists an axis twice");
    is_new[at] = true;
  }
  Sizes dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    dims.push_back(is_new[i] ? 1 : x->dims[next++]);
  }
  return Constants{WithDims(*x, dims)};
}

absl::StatusOr<Constants> FoldReshape(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* target, context.IntegersOf(1));
  SPILLWAY_ASSIGN_OR_RETURN(const bool allows_zero,
                            context.node.Bool("allowzero", false));
  Sizes dims = *target;
  const auto size = static_cast<int64_t>(x->size());
  std::optional<size_t> unknown;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allows_zero && i < x->dims.size())
      dims[i] = x->dims[i];
    if (dims[i] == -1 && !unknown.has_value()) {
      unknown = i;
      dims[i] = 1;
    }
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t known, CountFolded(dims));
  if (unknown.has_value() && known > 0) dims[*unknown] = size / known;
  if (CountOf(dims) != size) {
    return InvalidArgument(fmt::format("its input is {}, its target {}",
                                       Shape(x->dims).ToString(),
                                       Shape(*target).ToString()));
  }
  return Constants{WithDims(*x, dims)};
}

absl::StatusOr<Constants> FoldTranspose(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated,
                            context.node.Ints("perm"));
  Sizes perm(x->dims.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (stated.has_value()) perm = *stated;
  Sizes sorted = perm;
  std::ranges::sort(sorted);
  Sizes expected(x->dims.size());
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected) return InvalidArgument("perm is no permutation");
  const Sizes strides = StridesOf(x->dims);
  Sizes dims;
  for (const int64_t dim : perm)
    dims.push_back(x->dims[static_cast<size_t>(dim)]);
  Sizes source;
  ForEachPlace(dims, [&](const Sizes& place) {
    int64_t at = 0;
    for (size_t i = 0; i < perm.size(); ++i) {
      at += place[i] * strides[static_cast<size_t>(perm[i])];
    }
    source.push_back(at);
  });
  return Constants{Select(*x, dims, source)};
}

// Where a slice of one dimension begins, how many elements it has, its step.
struct Cut {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};

absl::StatusOr<Cut> MakeCut(int64_t start, int64_t end, int64_t step,
                            int64_t dim) {
  if (step == 0) return InvalidArgument("has a step of 0");
  const auto place = [dim](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 && at >= -dim ? at + dim : at, low, high);
  };
  // Backwards from the last element, to before the first one.
  const int64_t high = step > 0 ? dim : dim - 1;
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t begin = place(start, std::max<int64_t>(low, 0), high);
  const int64_t stop = place(end, low, high);
  const int64_t distance = step > 0 ? stop - begin : begin - stop;
  const auto size = static_cast<uint64_t>(step < 0 ? -(step + 1) : step - 1);
  const int64_t count =
      distance <= 0 ? 0
                    : static_cast<int64_t>(static_cast<uint64_t>(distance - 1) /
                                           (size + 1)) +
                          1;
  return Cut{.begin = begin, .count = count, .step = step};
}

absl::StatusOr<std::vector<Cut>> ReadCuts(const FoldContext& context,
                                          const Constant& x) {
  Sizes starts;
  Sizes ends;
  std::optional<Sizes> axes;
  std::optional<Sizes> steps;
  if (context.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Integers* from, context.IntegersOf(1));
    SPILLWAY_ASSIGN_OR_RETURN(const Integers* to, context.IntegersOf(2));
    starts = *from;
    ends = *to;
    if (context.has(3)) {
      SPILLWAY_ASSIGN_OR_RETURN(const Integers* given, context.IntegersOf(3));
      axes = *given;
    }
    if (context.has(4)) {
      SPILLWAY_ASSIGN_OR_RETURN(const Integers* given, context.IntegersOf(4));
      steps = *given;
    }
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(const auto from, context.node.Ints("starts"));
    SPILLWAY_ASSIGN_OR_RETURN(const auto to, context.node.Ints("ends"));
    SPILLWAY_ASSIGN_OR_RETURN(axes, context.node.Ints("axes"));
    starts = from.value_or(Sizes());
    ends = to.value_or(Sizes());
  }
  const size_t count = starts.size();
  if (ends.size() != count || (axes.has_value() && axes->size() != count) ||
      (steps.has_value() && steps->size() != count)) {
    return InvalidArgument("starts, ends, axes and steps differ in length");
  }
  std::vector<Cut> cuts;
  for (const int64_t dim : x.dims) cuts.push_back({.count = dim});
  for (size_t i = 0; i < count; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const size_t axis,
        FoldedAxis(axes.has_value() ? (*axes)[i] : static_cast<int64_t>(i),
                   x.dims.size()));
    SPILLWAY_ASSIGN_OR_RETURN(
        cuts[axis], MakeCut(starts[i], ends[i],
                            steps.has_value() ? (*steps)[i] : 1, x.dims[axis]));
  }
  return cuts;
}

absl::StatusOr<Constants> FoldSlice(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Cut> cuts, ReadCuts(context, *x));
  const Sizes strides = StridesOf(x->dims);
  Sizes dims;
  for (const Cut& cut : cuts) dims.push_back(cut.count);
  Sizes source;
  ForEachPlace(dims, [&](const Sizes& place) {
    int64_t at = 0;
    for (size_t i = 0; i < cuts.size(); ++i) {
      at += (cuts[i].begin + place[i] * cuts[i].step) * strides[i];
    }
    source.push_back(at);
  });
  return Constants{Select(*x, dims, source)};
}

absl::StatusOr<Constants> FoldExpand(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* target, context.IntegersOf(1));
  SPILLWAY_RETURN_IF_ERROR(CountFolded(*target).status());
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes dims, CommonDims(x->dims, *target));
  SPILLWAY_RETURN_IF_ERROR(CountFolded(dims).status());
  return Constants{BroadcastTo(*x, dims)};
}

absl::StatusOr<Constants> FoldTile(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Integers* repeats, context.IntegersOf(1));
  if (repeats->size() != x->dims.size()) {
    return InvalidArgument("has not one repeat for each dimension");
  }
  SPILLWAY_RETURN_IF_ERROR(CountFolded(*repeats).status());
  Sizes dims = x->dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*repeats)[i] != 0 && dims[i] > kMaxFoldedElements / (*repeats)[i]) {
      return ResourceExhausted("a repeated dimension");
    }
    dims[i] *= (*repeats)[i];
  }
  SPILLWAY_RETURN_IF_ERROR(CountFolded(dims).status());
  const Sizes strides = StridesOf(x->dims);
  Sizes source;
  ForEachPlace(dims, [&](const Sizes& place) {
    int64_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      at += place[i] % x->dims[i] * strides[i];
    }
    source.push_back(at);
  });
  return Constants{Select(*x, dims, source)};
}

absl::StatusOr<Constants> FoldRange(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* start, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* limit, context.Input(1));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* delta, context.Input(2));
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1 ||
      delta->real(0) == 0) {
    return InvalidArgument(
        "has no range: start, limit and delta are numbers, "
        "and delta is not 0");
  }
  const double count = std::max(
      0.0, std::ceil((limit->real(0) - start->real(0)) / delta->real(0)));
  if (!(count <= static_cast<double>(kMaxFoldedElements))) {
    return ResourceExhausted("a range");
  }
  const auto size = static_cast<int64_t>(count);
  if (start->is_real()) {
    Reals reals;
    for (int64_t i = 0; i < size; ++i) {
      reals.push_back(start->real(0) + static_cast<double>(i) * delta->real(0));
    }
    return Constants{MakeConstant(start->type, {size}, std::move(reals))};
  }
  Integers integers;
  for (int64_t i = 0; i < size; ++i) {
    // Wraps around in a damaged file.
    integers.push_back(static_cast<int64_t>(
        static_cast<uint64_t>(start->integer(0)) +
        static_cast<uint64_t>(i) * static_cast<uint64_t>(delta->integer(0))));
  }
  return Constants{MakeConstant(start->type, {size}, std::move(integers))};
}

absl::StatusOr<Constants> FoldTrilu(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_upper,
                            context.node.Bool("upper", true));
  int64_t k = 0;
  if (context.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Integers* shift, context.IntegersOf(1));
    if (shift->size() == 1) k = shift->front();
  }
  if (x->dims.size() < 2) return InvalidArgument("has no matrix");
  Constant result = *x;
  size_t next = 0;
  ForEachPlace(x->dims, [&](const Sizes& place) {
    const int64_t distance = place.back() - place[place.size() - 2];
    const bool stays = is_upper ? distance >= k : distance <= k;
    if (!stays) {
      if (result.is_real()) {
        std::get<Reals>(result.elements)[next] = 0;
      } else {
        std::get<Integers>(result.elements)[next] = 0;
      }
    }
    ++next;
  });
  return Constants{std::move(result)};
}

absl::StatusOr<Constants> FoldNonZero(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  std::vector<Sizes> places;
  size_t next = 0;
  ForEachPlace(x->dims, [&](const Sizes& place) {
    if (x->real(next++) != 0) places.push_back(place);
  });
  Integers integers;
  for (size_t dim = 0; dim < x->dims.size(); ++dim) {
    for (const Sizes& place : places) integers.push_back(place[dim]);
  }
  return Constants{MakeConstant(ElementType::kInt64,
                                {static_cast<int64_t>(x->dims.size()),
                                 static_cast<int64_t>(places.size())},
                                std::move(integers))};
}

}  // namespace

Folder FindShaping(std::string_view op) {
  static const std::map<std::string_view, Folder> kOps = {
      {"Concat", FoldConcat},     {"Expand", FoldExpand},
      {"Identity", FoldIdentity}, {"NonZero", FoldNonZero},
      {"Range", FoldRange},       {"Reshape", FoldReshape},
      {"Slice", FoldSlice},       {"Squeeze", FoldSqueeze},
      {"Tile", FoldTile},         {"Transpose", FoldTranspose},
      {"Trilu", FoldTrilu},       {"Unsqueeze", FoldUnsqueeze},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

}  // namespace spillway::onnx_model

// Gather and GatherGrad, BroadcastTo.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

// Of x [outer, n, inner] and indices [count].
struct GatherSpec {
  std::string name = {};
  Shape x = {};
  Shape indices = {};
  Shape y = {};
  int axis = 0;
  DType dtype = DType::kInt32;
  // Indices from `low` on, below `high`.
  double low = 0;
  double high = 1;
};

// y's index without the dimensions of the indices.
Index RowOf(const GatherSpec& spec, const Index& y, int64_t row) {
  Index x(y.begin(), y.begin() + spec.axis);
  x.push_back(row);
  x.insert(x.end(), y.begin() + spec.axis + spec.indices.rank(), y.end());
  return x;
}

Index IndexOf(const GatherSpec& spec, const Index& y) {
  return {y.begin() + spec.axis, y.begin() + spec.axis + spec.indices.rank()};
}

CaseInput IndicesOf(const GatherSpec& spec) {
  return {.type = {.dtype = spec.dtype, .shape = spec.indices},
          .fill = Fill::kIntegers,
          .low = spec.low,
          .high = spec.high};
}

OpCase GatherCase(const GatherSpec& spec) {
  OpCase op_case = {
      .name = "Gather" + spec.name,
      .op = "Gather",
      .inputs = {{.type = Float32(spec.x)}, IndicesOf(spec)},
      .attributes = {{"axis", spec.axis}},
      .outputs = {Float32(spec.y)},
      .reference =
          [spec](const DoublesList& in) {
            return DoublesList{FromIndices(spec.y, [&](const Index& y) {
              const auto row = static_cast<int64_t>(
                  in[1][Flat(spec.indices, IndexOf(spec, y))]);
              if (row < 0 || row >= spec.x.dim(spec.axis)) return 0.0;
              return in[0][Flat(spec.x, RowOf(spec, y, row))];
            })};
          },
      .gradients = {0}};
  return op_case;
}

OpCase GatherGradCase(const GatherSpec& spec) {
  return {.name = "GatherGrad" + spec.name,
          .op = "GatherGrad",
          .inputs = {{.type = Float32(spec.y)}, IndicesOf(spec)},
          .attributes = {{"axis", spec.axis}, {"input_shape", spec.x}},
          .outputs = {Float32(spec.x)},
          .reference = [spec](const DoublesList& in) {
            Doubles dx(static_cast<size_t>(spec.x.num_elements()), 0);
            for (const Index& y : AllIndices(spec.y)) {
              const auto row = static_cast<int64_t>(
                  in[1][Flat(spec.indices, IndexOf(spec, y))]);
              if (row < 0 || row >= spec.x.dim(spec.axis)) continue;
              dx[Flat(spec.x, RowOf(spec, y, row))] += in[0][Flat(spec.y, y)];
            }
            return DoublesList{dx};
          }};
}

std::vector<GatherSpec> GatherSpecs() {
  return {
      {.x = {7, 5}, .indices = {4, 3}, .y = {4, 3, 5}, .high = 7},
      {.name = "OfAxis",
       .x = {2, 6, 3},
       .indices = {4},
       .y = {2, 4, 3},
       .axis = 1,
       .dtype = DType::kInt64,
       .high = 6},
      {.name = "OfLastAxis",
       .x = {3, 4},
       .indices = {2},
       .y = {3, 2},
       .axis = 1,
       .high = 4},
      {.name = "Outside",
       .x = {3, 4},
       .indices = {9},
       .y = {9, 4},
       .low = -2,
       .high = 6},
      {.name = "ByScalar", .x = {5, 4}, .indices = {}, .y = {4}, .high = 5},
      // Rows that many indices name.
      {.name = "Large",
       .x = {11, 300},
       .indices = {200},
       .y = {200, 300},
       .high = 11},
  };
}

OpCase BroadcastToCase(const std::string& name, const Shape& x,
                       const Shape& y) {
  return {.name = "BroadcastTo" + name,
          .op = "BroadcastTo",
          .inputs = {{.type = Float32(x)}},
          .attributes = {{"shape", y}},
          .outputs = {Float32(y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(y, [&](const Index& index) {
                  Index own(index.end() - x.rank(), index.end());
                  for (int i = 0; i < x.rank(); ++i) {
                    if (x.dim(i) == 1) own[static_cast<size_t>(i)] = 0;
                  }
                  return in[0][Flat(x, own)];
                })};
              },
          .gradients = {0}};
}

std::vector<BadOp> BadGathers() {
  return {
      {.name = "GatherByReals",
       .op = "Gather",
       .inputs = {Float32({3, 4}), Float32({2})},
       .error = "indices must be int32 or int64; it is float32[2]"},
      {.name = "GatherOfNoAxis",
       .op = "Gather",
       .inputs = {Float32({3, 4}), Int32({2})},
       .attributes = {{"axis", 2}},
       .error = "2"},
      {.name = "GatherOfNumber",
       .op = "Gather",
       .inputs = {Float32({}), Int32({2})},
       .error = "x must have 1 dimension"},
      {.name = "GatherGradOfOtherRows",
       .op = "GatherGrad",
       .inputs = {Float32({2, 5}), Int32({2})},
       .attributes = {{"input_shape", Shape({3, 4})}},
       .error = "dy must be float32[2, 4]"},
      {.name = "BroadcastToSmaller",
       .op = "BroadcastTo",
       .inputs = {Float32({3, 4})},
       .attributes = {{"shape", Shape({4})}},
       .error = "x cannot be repeated to [4]; it is float32[3, 4]"},
      {.name = "BroadcastToOther",
       .op = "BroadcastTo",
       .inputs = {Float32({3, 4})},
       .attributes = {{"shape", Shape({3, 5})}},
       .error = "x cannot be repeated to [3, 5]"},
  };
}

}  // namespace

OpCases GatherCases() {
  OpCases cases = {.bad = BadGathers()};
  for (const GatherSpec& spec : GatherSpecs()) {
    cases.good.push_back(GatherCase(spec));
    cases.good.push_back(GatherGradCase(spec));
  }
  cases.good.push_back(BroadcastToCase("", {3, 1, 5}, {2, 3, 4, 5}));
  cases.good.push_back(BroadcastToCase("OfNumber", {}, {3, 4}));
  cases.good.push_back(BroadcastToCase("Itself", {3, 4}, {3, 4}));
  cases.good.push_back(BroadcastToCase("OfColumn", {6, 1}, {6, 70}));
  return cases;
}

}  // namespace spillway::testing

// MaxPool, MaxPoolGrad, AvgPool, AvgPoolGrad.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/all_cases.h"
#include "tests/ops/multi_index.h"

namespace spillway::testing {
namespace {

using Pair = std::vector<int64_t>;  // rows, columns

// `y` and `pad_before` are worked out by hand.
struct Pool {
  std::string name;
  Shape x;
  Shape y;
  Pair ksize;
  Pair strides;
  std::string padding = "VALID";
  Pair pad_before = {0, 0};
  Pair pad_after = {0, 0};  // EXPLICIT only
};

Attributes AttributesOf(const Pool& pool) {
  Attributes attributes = {{"ksize", pool.ksize},
                           {"strides", pool.strides},
                           {"padding", pool.padding}};
  if (pool.padding == "EXPLICIT") {
    using List = AttributeValue::List;
    attributes.Set("explicit_paddings",
                   List{List{pool.pad_before[0], pool.pad_after[0]},
                        List{pool.pad_before[1], pool.pad_after[1]}});
  }
  return attributes;
}

// Places in x of the elements of the window of one element of y, row-major.
std::vector<size_t> WindowOf(const Pool& pool, const Index& y) {
  std::vector<size_t> places;
  for (int64_t i = 0; i < pool.ksize[0]; ++i) {
    for (int64_t j = 0; j < pool.ksize[1]; ++j) {
      const int64_t h = y[1] * pool.strides[0] - pool.pad_before[0] + i;
      const int64_t w = y[2] * pool.strides[1] - pool.pad_before[1] + j;
      if (h < 0 || h >= pool.x.dim(1) || w < 0 || w >= pool.x.dim(2)) continue;
      places.push_back(Flat(pool.x, {y[0], h, w, y[3]}));
    }
  }
  return places;
}

size_t FirstMaximum(const std::vector<size_t>& places, const Doubles& x) {
  size_t best = places.front();
  for (const size_t place : places) {
    if (x[place] > x[best]) best = place;
  }
  return best;
}

double Flops(const Pool& pool) {
  return static_cast<double>(pool.y.num_elements() * pool.ksize[0] *
                             pool.ksize[1]);
}

// Central differences take as many passes over x as they check elements.
std::vector<int> GradientsOf(const Pool& pool) {
  return pool.x.num_elements() < 5000 ? std::vector{0} : std::vector<int>{};
}

// Many elements are equal if `fill` is kIntegers.
CaseInput Image(const Pool& pool, Fill fill) {
  return {.type = Float32(pool.x), .fill = fill, .low = -3, .high = 3};
}

OpCase MaxPool(const Pool& pool) {
  return {.name = "MaxPool" + pool.name,
          .op = "MaxPool",
          .inputs = {Image(pool, Fill::kDistinct)},
          .attributes = AttributesOf(pool),
          .outputs = {Float32(pool.y)},
          .reference =
              [pool](const DoublesList& in) {
                return DoublesList{FromIndices(pool.y, [&](const Index& y) {
                  return in[0][FirstMaximum(WindowOf(pool, y), in[0])];
                })};
              },
          .gradients = GradientsOf(pool),
          .gradient_step = 1e-6,
          .flops = Flops(pool)};
}

OpCase MaxPoolGrad(const Pool& pool, const std::string& name, Fill fill) {
  return {.name = "MaxPoolGrad" + name,
          .op = "MaxPoolGrad",
          .inputs = {Image(pool, fill), {.type = Float32(pool.y)}},
          .attributes = AttributesOf(pool),
          .outputs = {Float32(pool.x)},
          .reference =
              [pool](const DoublesList& in) {
                Doubles dx(in[0].size(), 0);
                size_t place = 0;
                for (const Index& y : AllIndices(pool.y)) {
                  dx[FirstMaximum(WindowOf(pool, y), in[0])] += in[1][place++];
                }
                return DoublesList{dx};
              },
          .flops = Flops(pool)};
}

double Divisor(const Pool& pool, size_t elements, bool counts_padding) {
  return static_cast<double>(counts_padding ? pool.ksize[0] * pool.ksize[1]
                                            : static_cast<int64_t>(elements));
}

OpCase AvgPool(const Pool& pool, const std::string& name, bool counts_padding) {
  Attributes attributes = AttributesOf(pool);
  if (counts_padding) attributes.Set("count_include_pad", true);
  return {.name = "AvgPool" + name,
          .op = "AvgPool",
          .inputs = {{.type = Float32(pool.x)}},
          .attributes = attributes,
          .outputs = {Float32(pool.y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(pool.y, [&](const Index& y) {
                  const std::vector<size_t> places = WindowOf(pool, y);
                  double sum = 0;
                  for (const size_t place : places) sum += in[0][place];
                  return sum / Divisor(pool, places.size(), counts_padding);
                })};
              },
          .gradients = GradientsOf(pool),
          .flops = Flops(pool)};
}

OpCase AvgPoolGrad(const Pool& pool, const std::string& name,
                   bool counts_padding) {
  Attributes attributes = AttributesOf(pool);
  attributes.Set("input_shape", pool.x);
  if (counts_padding) attributes.Set("count_include_pad", true);
  return {.name = "AvgPoolGrad" + name,
          .op = "AvgPoolGrad",
          .inputs = {{.type = Float32(pool.y)}},
          .attributes = attributes,
          .outputs = {Float32(pool.x)},
          .reference =
              [=](const DoublesList& in) {
                Doubles dx(static_cast<size_t>(pool.x.num_elements()), 0);
                size_t at = 0;
                for (const Index& y : AllIndices(pool.y)) {
                  const std::vector<size_t> places = WindowOf(pool, y);
                  const double share =
                      in[0][at++] /
                      Divisor(pool, places.size(), counts_padding);
                  for (const size_t place : places) dx[place] += share;
                }
                return DoublesList{dx};
              },
          .flops = Flops(pool),
          .same_bits_for_any_threads = false};
}

std::vector<Pool> Pools() {
  return {
      {.name = "Halves",
       .x = {2, 6, 8, 32},
       .y = {2, 3, 4, 32},
       .ksize = {2, 2},
       .strides = {2, 2}},
      {.name = "HalvesOddSizes",  // last row, last column: in no window
       .x = {3, 7, 9, 5},
       .y = {3, 3, 4, 5},
       .ksize = {2, 2},
       .strides = {2, 2}},
      {.name = "HalvesOddSizesSame",
       .x = {2, 7, 9, 13},
       .y = {2, 4, 5, 13},
       .ksize = {2, 2},
       .strides = {2, 2},
       .padding = "SAME"},
      {.name = "Overlapping",
       .x = {2, 9, 8, 20},
       .y = {2, 5, 4, 20},
       .ksize = {3, 3},
       .strides = {2, 2},
       .padding = "SAME",
       .pad_before = {1, 0}},
      {.name = "Stride1",
       .x = {2, 6, 5, 9},
       .y = {2, 6, 5, 9},
       .ksize = {3, 3},
       .strides = {1, 1},
       .padding = "SAME",
       .pad_before = {1, 1}},
      {.name = "OverlappingRowsOnly",
       .x = {1, 12, 6, 8},
       .y = {1, 10, 3, 8},
       .ksize = {3, 2},
       .strides = {1, 2}},
      {.name = "Gaps",
       .x = {2, 10, 11, 17},
       .y = {2, 3, 3, 17},
       .ksize = {2, 1},
       .strides = {4, 5}},
      {.name = "Explicit",
       .x = {2, 7, 8, 6},
       .y = {2, 4, 3, 6},
       .ksize = {3, 4},
       .strides = {2, 3},
       .padding = "EXPLICIT",
       .pad_before = {2, 0},
       .pad_after = {0, 3}},
      {.name = "Whole",
       .x = {3, 5, 4, 40},
       .y = {3, 1, 1, 40},
       .ksize = {5, 4},
       .strides = {1, 1}},
      {.name = "ManyRows",  // every thread gets some
       .x = {3, 61, 33, 24},
       .y = {3, 30, 16, 24},
       .ksize = {3, 3},
       .strides = {2, 2}},
  };
}

BadOp Bad(const std::string& name, const Shape& x, Attributes attributes,
          const std::string& error) {
  return {.name = "MaxPool" + name,
          .op = "MaxPool",
          .inputs = {Float32(x)},
          .attributes = std::move(attributes),
          .error = error};
}

std::vector<BadOp> BadPools() {
  using List = AttributeValue::List;
  const Shape x = {2, 8, 8, 4};
  const List two = {2, 2};
  return {
      Bad("WithoutSize", x, {{"padding", "SAME"}}, "ksize"),
      Bad("OfOneSize", x, {{"padding", "SAME"}, {"ksize", List{2}}},
          "must have 2 entries"),
      Bad("OfRank3", {8, 8, 4}, {{"padding", "SAME"}, {"ksize", two}},
          "x must have 4 dimensions"),
      Bad("LargerThanTheImage", x,
          {{"padding", "VALID"}, {"ksize", List{2, 9}}},
          "a window of 9 elements does not fit into a dimension of 8"),
      Bad("OfPaddingAlone", x,
          {{"padding", "EXPLICIT"},
           {"ksize", two},
           {"explicit_paddings", List{List{0, 0}, List{2, 0}}}},
          "a pool's window of 2 elements must exceed its padding"),
      {.name = "MaxPoolGradOfOtherDy",
       .op = "MaxPoolGrad",
       .inputs = {Float32(x), Float32({2, 4, 3, 4})},
       .attributes = {{"padding", "SAME"}, {"ksize", two}, {"strides", two}},
       .error = "dy must be float32[2, 4, 4, 4], as the pool's output"},
      {.name = "AvgPoolGradOfOtherShape",
       .op = "AvgPoolGrad",
       .inputs = {Float32({2, 4, 4, 4})},
       .attributes = {{"padding", "SAME"},
                      {"ksize", two},
                      {"strides", two},
                      {"input_shape", Shape({2, 9, 8, 4})}},
       .error = "dy must be float32[2, 5, 4, 4]"},
      {.name = "AvgPoolOfIntegers",
       .op = "AvgPool",
       .inputs = {Int32(x)},
       .attributes = {{"padding", "SAME"}, {"ksize", two}},
       .error = "x must be float32"},
      {.name = "AvgPoolOfCountThatIsNoBool",
       .op = "AvgPool",
       .inputs = {Float32(x)},
       .attributes = {{"padding", "SAME"},
                      {"ksize", two},
                      {"count_include_pad", "yes"}},
       .error = "count_include_pad"},
  };
}

}  // namespace

OpCases PoolCases() {
  OpCases cases;
  for (const Pool& pool : Pools()) {
    cases.good.push_back(MaxPool(pool));
    cases.good.push_back(MaxPoolGrad(pool, pool.name, Fill::kDistinct));
    cases.good.push_back(
        MaxPoolGrad(pool, pool.name + "Ties", Fill::kIntegers));
    cases.good.push_back(AvgPool(pool, pool.name, false));
    cases.good.push_back(AvgPoolGrad(pool, pool.name, false));
    if (pool.padding == "VALID") continue;
    const std::string name = pool.name + "CountingPadding";
    cases.good.push_back(AvgPool(pool, name, true));
    cases.good.push_back(AvgPoolGrad(pool, name, true));
  }
  cases.bad = BadPools();
  return cases;
}

}  // namespace spillway::testing

// MaxPool, AvgPool and their gradients, in two and three dimensions.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

using Sizes = std::vector<int64_t>;  // one for each spatial dimension

// `y` and `pad_before` are computed by hand.
struct Pool {
  std::string name;
  Shape x;
  Shape y;
  Sizes ksize;
  Sizes strides;
  std::string padding = "VALID";
  Sizes pad_before = {};  // none: zeros
  Sizes pad_after = {};   // EXPLICIT only
};

// "MaxPool3DGrad"
std::string OpName(const Pool& pool, const std::string& first,
                   const std::string& last) {
  return first + (pool.ksize.size() == 3 ? "3D" : "") + last;
}

Attributes AttributesOf(const Pool& pool) {
  Attributes attributes = {{"ksize", pool.ksize},
                           {"strides", pool.strides},
                           {"padding", pool.padding}};
  if (pool.padding == "EXPLICIT") {
    AttributeValue::List paddings;
    for (size_t axis = 0; axis < pool.ksize.size(); ++axis) {
      paddings.push_back(
          AttributeValue::List{pool.pad_before[axis], pool.pad_after[axis]});
    }
    attributes.Set("explicit_paddings", paddings);
  }
  return attributes;
}

// The index in x of element `k` of the window of `y`, if it is inside.
std::optional<size_t> PlaceOf(const Pool& pool, const Index& y,
                              const Index& k) {
  Index x = y;
  for (size_t axis = 0; axis < k.size(); ++axis) {
    const int64_t before = pool.pad_before.empty() ? 0 : pool.pad_before[axis];
    int64_t& place = x[axis + 1];
    place = place * pool.strides[axis] - before + k[axis];
    if (place < 0 || place >= pool.x.dims()[axis + 1]) return std::nullopt;
  }
  return Flat(pool.x, x);
}

// Indices in x of the elements of the window of one element of y, row-major.
std::vector<size_t> WindowOf(const Pool& pool, const Index& y) {
  std::vector<size_t> places;
  for (const Index& k : AllIndices(Shape(pool.ksize))) {
    const std::optional<size_t> place = PlaceOf(pool, y, k);
    if (place.has_value()) places.push_back(*place);
  }
  return places;
}

int64_t WindowSize(const Pool& pool) {
  return Shape(pool.ksize).num_elements();
}

size_t FirstMaximum(const std::vector<size_t>& places, const Doubles& x) {
  size_t best = places.front();
  for (const size_t place : places) {
    if (x[place] > x[best]) best = place;
  }
  return best;
}

double Flops(const Pool& pool) {
  return static_cast<double>(pool.y.num_elements() * WindowSize(pool));
}

// Central differences need one pass over x per checked element.
std::vector<int> GradientsOf(const Pool& pool) {
  return pool.x.num_elements() < 5000 ? std::vector{0} : std::vector<int>{};
}

// Many elements are equal if `fill` is kIntegers.
CaseInput Image(const Pool& pool, Fill fill) {
  return {.type = Float32(pool.x), .fill = fill, .low = -3, .high = 3};
}

OpCase MaxPool(const Pool& pool) {
  const std::string op = OpName(pool, "MaxPool", "");
  return {.name = op + pool.name,
          .op = op,
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
  const std::string op = OpName(pool, "MaxPool", "Grad");
  return {.name = op + name,
          .op = op,
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

// The index in the window, padding counted, of its first maximum.
double PlaceOfMaximum(const Pool& pool, const Index& y, const Doubles& x) {
  const size_t maximum = FirstMaximum(WindowOf(pool, y), x);
  double number = 0;
  for (const Index& k : AllIndices(Shape(pool.ksize))) {
    if (PlaceOf(pool, y, k) == maximum) break;
    ++number;
  }
  return number;
}

TensorType PlacesType(const Pool& pool) {
  return {.dtype = DType::kUInt8, .shape = pool.y};
}

OpCase MaxPoolWithPlaces(const Pool& pool, const std::string& name, Fill fill) {
  OpCase op_case = MaxPool(pool);
  op_case.name = op_case.op + name;
  op_case.inputs = {Image(pool, fill)};
  op_case.attributes.Set("places", true);
  op_case.outputs.push_back(PlacesType(pool));
  op_case.reference = [pool](const DoublesList& in) {
    Doubles y;
    Doubles places;
    for (const Index& at : AllIndices(pool.y)) {
      y.push_back(in[0][FirstMaximum(WindowOf(pool, at), in[0])]);
      places.push_back(PlaceOfMaximum(pool, at, in[0]));
    }
    return DoublesList{y, places};
  };
  if (fill == Fill::kIntegers) op_case.gradients = {};
  return op_case;
}

// `places` are random elements of the windows that are not padding.
OpCase MaxPoolGradOfPlaces(const Pool& pool) {
  const std::string op = OpName(pool, "MaxPool", "Grad");
  Attributes attributes = AttributesOf(pool);
  attributes.Set("places", true);
  attributes.Set("input_shape", pool.x);
  Doubles places;
  size_t random = 1;
  Doubles x(static_cast<size_t>(pool.x.num_elements()), 0);
  for (const Index& y : AllIndices(pool.y)) {
    const std::vector<size_t> window = WindowOf(pool, y);
    random = (random * 1103515245 + 12345) % 2147483648;
    double& maximum = x[window[random / 65536 % window.size()]];
    maximum = 1;
    places.push_back(PlaceOfMaximum(pool, y, x));
    maximum = 0;
  }
  return {.name = op + pool.name + "Places",
          .op = op,
          .inputs = {{.type = PlacesType(pool),
                      .fill = Fill::kValues,
                      .values = places},
                     {.type = Float32(pool.y)}},
          .attributes = attributes,
          .outputs = {Float32(pool.x)},
          .reference =
              [pool](const DoublesList& in) {
                Doubles dx(static_cast<size_t>(pool.x.num_elements()), 0);
                const std::vector<Index> elements =
                    AllIndices(Shape(pool.ksize));
                size_t at = 0;
                for (const Index& y : AllIndices(pool.y)) {
                  const auto element = static_cast<size_t>(in[0][at]);
                  dx[*PlaceOf(pool, y, elements[element])] += in[1][at++];
                }
                return DoublesList{dx};
              },
          .flops = Flops(pool)};
}

double Divisor(const Pool& pool, size_t elements, bool counts_padding) {
  return static_cast<double>(counts_padding ? WindowSize(pool)
                                            : static_cast<int64_t>(elements));
}

OpCase AvgPool(const Pool& pool, const std::string& name, bool counts_padding) {
  Attributes attributes = AttributesOf(pool);
  if (counts_padding) attributes.Set("count_include_pad", true);
  const std::string op = OpName(pool, "AvgPool", "");
  return {.name = op + name,
          .op = op,
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
  const std::string op = OpName(pool, "AvgPool", "Grad");
  return {.name = op + name,
          .op = op,
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
          .flops = Flops(pool)};
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
      {.name = "ManyTaps",  // more than a byte can index
       .x = {1, 20, 19, 8},
       .y = {1, 2, 4, 8},
       .ksize = {17, 16},
       .strides = {2, 1}},
      {.name = "ManyRows",  // every thread gets some; several bands
       .x = {3, 61, 33, 24},
       .y = {3, 30, 16, 24},
       .ksize = {3, 3},
       .strides = {2, 2}},
  };
}

std::vector<Pool> Pools3D() {
  return {
      {.name = "Halves",
       .x = {2, 4, 6, 8, 20},
       .y = {2, 2, 3, 4, 20},
       .ksize = {2, 2, 2},
       .strides = {2, 2, 2}},
      {.name = "HalvesOddSizes",
       .x = {2, 5, 7, 3, 5},
       .y = {2, 2, 3, 1, 5},
       .ksize = {2, 2, 2},
       .strides = {2, 2, 2}},
      {.name = "Overlapping",
       .x = {1, 7, 6, 5, 9},
       .y = {1, 4, 3, 3, 9},
       .ksize = {3, 3, 3},
       .strides = {2, 2, 2},
       .padding = "SAME",
       .pad_before = {1, 0, 1}},
      {.name = "InOnePlane",
       .x = {2, 3, 6, 6, 8},
       .y = {2, 3, 3, 3, 8},
       .ksize = {1, 3, 3},
       .strides = {1, 2, 2},
       .padding = "SAME",
       .pad_before = {0, 0, 0}},
      {.name = "AcrossPlanes",  // overlap in depth only
       .x = {1, 6, 4, 5, 7},
       .y = {1, 6, 2, 2, 7},
       .ksize = {3, 2, 2},
       .strides = {1, 2, 2},
       .padding = "EXPLICIT",
       .pad_before = {1, 0, 0},
       .pad_after = {1, 0, 0}},
      {.name = "Gaps",
       .x = {2, 8, 7, 9, 3},
       .y = {2, 3, 2, 3, 3},
       .ksize = {2, 2, 1},
       .strides = {3, 4, 3},
       .padding = "EXPLICIT",
       .pad_before = {0, 1, 0},
       .pad_after = {0, 0, 0}},
      {.name = "OnePlane",
       .x = {2, 1, 7, 6, 6},
       .y = {2, 1, 3, 3, 6},
       .ksize = {1, 3, 2},
       .strides = {1, 2, 2}},
      {.name = "OnePlaneTwice",  // two windows in depth over one plane
       .x = {1, 1, 5, 4, 6},
       .y = {1, 2, 2, 2, 6},
       .ksize = {2, 2, 2},
       .strides = {1, 2, 2},
       .padding = "EXPLICIT",
       .pad_before = {1, 0, 0},
       .pad_after = {1, 0, 0}},
      {.name = "Whole",
       .x = {2, 3, 4, 2, 10},
       .y = {2, 1, 1, 1, 10},
       .ksize = {3, 4, 2},
       .strides = {1, 1, 1}},
      {.name = "ManyPlanes",  // every thread gets some; several bands
       .x = {1, 40, 9, 12, 16},
       .y = {1, 19, 4, 5, 16},
       .ksize = {3, 3, 3},
       .strides = {2, 2, 2}},
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
  const TensorType places = {.dtype = DType::kUInt8, .shape = {2, 4, 4, 4}};
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
      Bad("OfPlacesInLargeWindows", {1, 20, 20, 4},
          {{"padding", "VALID"}, {"ksize", List{17, 16}}, {"places", true}},
          "'places' allows windows of at most 256 elements; these have 272"),
      {.name = "MaxPoolGradOfPlacesWithoutShape",
       .op = "MaxPoolGrad",
       .inputs = {places, Float32({2, 4, 4, 4})},
       .attributes = {{"padding", "SAME"},
                      {"ksize", two},
                      {"strides", two},
                      {"places", true}},
       .error = "input_shape"},
      {.name = "MaxPoolGradOfOtherPlaces",
       .op = "MaxPoolGrad",
       .inputs = {Float32(x), Float32({2, 4, 4, 4})},
       .attributes = {{"padding", "SAME"},
                      {"ksize", two},
                      {"strides", two},
                      {"places", true},
                      {"input_shape", x}},
       .error = "places must be uint8[2, 4, 4, 4], as a byte for each of dy"},
      {.name = "MaxPoolGradOfShapeWithoutPlaces",
       .op = "MaxPoolGrad",
       .inputs = {Float32(x), Float32({2, 4, 4, 4})},
       .attributes = {{"padding", "SAME"},
                      {"ksize", two},
                      {"strides", two},
                      {"input_shape", x}},
       .error = "'input_shape' is only for 'places'"},
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

std::vector<BadOp> BadPools3D() {
  using List = AttributeValue::List;
  const Shape x = {2, 4, 8, 8, 4};
  const Attributes good = {{"padding", "SAME"},
                           {"ksize", List{2, 2, 2}},
                           {"strides", List{2, 2, 2}}};
  Attributes of_other_shape = good;
  of_other_shape.Set("input_shape", Shape({2, 5, 8, 8, 4}));
  return {
      {.name = "MaxPool3DOfRank4",
       .op = "MaxPool3D",
       .inputs = {Float32({2, 8, 8, 4})},
       .attributes = good,
       .error = "x must have 5 dimensions"},
      {.name = "MaxPool3DOfTwoSizes",
       .op = "MaxPool3D",
       .inputs = {Float32(x)},
       .attributes = {{"padding", "SAME"}, {"ksize", List{2, 2}}},
       .error = "must have 3 entries"},
      {.name = "MaxPool3DGradOfOtherDy",
       .op = "MaxPool3DGrad",
       .inputs = {Float32(x), Float32({2, 2, 4, 3, 4})},
       .attributes = good,
       .error = "dy must be float32[2, 2, 4, 4, 4], as the pool's output"},
      {.name = "MaxPool3DGradOfOtherDType",
       .op = "MaxPool3DGrad",
       .inputs = {BFloat16s(x), Float32({2, 2, 4, 4, 4})},
       .attributes = good,
       .error = "dy must be bfloat16[2, 2, 4, 4, 4]"},
      {.name = "AvgPool3DOfIntegers",
       .op = "AvgPool3D",
       .inputs = {Int32(x)},
       .attributes = good,
       .error = "x must be float32"},
      {.name = "AvgPool3DGradOfOtherShape",
       .op = "AvgPool3DGrad",
       .inputs = {Float32({2, 2, 4, 4, 4})},
       .attributes = of_other_shape,
       .error = "dy must be float32[2, 3, 4, 4, 4]"},
  };
}

std::vector<OpCase> CasesOf(const Pool& pool) {
  std::vector<OpCase> cases = {
      MaxPool(pool), MaxPoolGrad(pool, pool.name, Fill::kDistinct),
      MaxPoolGrad(pool, pool.name + "Ties", Fill::kIntegers),
      AvgPool(pool, pool.name, false), AvgPoolGrad(pool, pool.name, false)};
  if (WindowSize(pool) <= 256) {
    cases.push_back(
        MaxPoolWithPlaces(pool, pool.name + "Places", Fill::kDistinct));
    cases.push_back(
        MaxPoolWithPlaces(pool, pool.name + "PlacesTies", Fill::kIntegers));
    cases.push_back(MaxPoolGradOfPlaces(pool));
  }
  if (pool.padding != "VALID") {
    const std::string name = pool.name + "CountingPadding";
    cases.push_back(AvgPool(pool, name, true));
    cases.push_back(AvgPoolGrad(pool, name, true));
  }
  return cases;
}

// The pools use oneDNN, their gradients our own kernels.
OpCase BFloat16Case(const OpCase& base) {
  OpCase narrow = InBFloat16(base);
  narrow.gradients = {};
  narrow.needs_avx512 = !base.op.ends_with("Grad");
  return narrow;
}

}  // namespace

OpCases PoolCases() {
  OpCases cases;
  for (const std::vector<Pool>& pools : {Pools(), Pools3D()}) {
    for (const Pool& pool : pools) {
      for (OpCase& op_case : CasesOf(pool)) {
        cases.good.push_back(BFloat16Case(op_case));
        cases.good.push_back(std::move(op_case));
      }
    }
  }
  cases.bad = BadPools();
  for (BadOp& bad : BadPools3D()) cases.bad.push_back(std::move(bad));
  return cases;
}

}  // namespace spillway::testing

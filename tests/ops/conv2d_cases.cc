// Conv2D, Conv2DBackpropInput, Conv2DBackpropFilter.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/all_cases.h"

namespace spillway::testing {
namespace {

using Pair = std::vector<int64_t>;  // rows, columns

// `y` and `pad_before` are worked out by hand.
struct Conv {
  std::string name;
  Shape x;
  Shape filter;
  Shape y;
  std::string padding = "VALID";
  Pair pad_before = {0, 0};
  Pair pad_after = {0, 0};  // EXPLICIT only
  Pair strides = {1, 1};
  Pair dilations = {1, 1};
  int64_t groups = 1;
  bool is_small = true;  // enough for central differences
};

Attributes AttributesOf(const Conv& conv) {
  Attributes attributes = {{"strides", conv.strides},
                           {"padding", conv.padding},
                           {"dilations", conv.dilations},
                           {"groups", conv.groups}};
  if (conv.padding == "EXPLICIT") {
    using List = AttributeValue::List;
    attributes.Set("explicit_paddings",
                   List{List{conv.pad_before[0], conv.pad_after[0]},
                        List{conv.pad_before[1], conv.pad_after[1]}});
  }
  return attributes;
}

size_t At(const Shape& shape, int64_t a, int64_t b, int64_t c, int64_t d) {
  return static_cast<size_t>(
      ((a * shape.dim(1) + b) * shape.dim(2) + c) * shape.dim(3) + d);
}

// Calls fn(place in x, place in y) for every row and column of the filter and
// every pixel of y whose tap lies inside x.
template <typename Fn>
void ForEachTap(const Conv& conv, int64_t n, int64_t kh, int64_t kw, Fn fn) {
  for (int64_t oh = 0; oh < conv.y.dim(1); ++oh) {
    for (int64_t ow = 0; ow < conv.y.dim(2); ++ow) {
      const int64_t h =
          oh * conv.strides[0] - conv.pad_before[0] + kh * conv.dilations[0];
      const int64_t w =
          ow * conv.strides[1] - conv.pad_before[1] + kw * conv.dilations[1];
      if (h < 0 || h >= conv.x.dim(1) || w < 0 || w >= conv.x.dim(2)) continue;
      fn(At(conv.x, n, h, w, 0), At(conv.y, n, oh, ow, 0));
    }
  }
}

// Calls fn(x, filter, y), three places, for every product of the convolution.
template <typename Fn>
void ForEachProduct(const Conv& conv, Fn fn) {
  const int64_t in = conv.filter.dim(3);
  const int64_t out = conv.filter.dim(0) / conv.groups;
  for (int64_t n = 0; n < conv.x.dim(0); ++n) {
    for (int64_t kh = 0; kh < conv.filter.dim(1); ++kh) {
      for (int64_t kw = 0; kw < conv.filter.dim(2); ++kw) {
        ForEachTap(conv, n, kh, kw, [&](size_t x, size_t y) {
          for (int64_t o = 0; o < conv.filter.dim(0); ++o) {
            for (int64_t i = 0; i < in; ++i) {
              fn(x + static_cast<size_t>(o / out * in + i),
                 At(conv.filter, o, kh, kw, i), y + static_cast<size_t>(o));
            }
          }
        });
      }
    }
  }
}

Doubles Zeros(const Shape& shape) {
  return Doubles(static_cast<size_t>(shape.num_elements()), 0);
}

double Flops(const Conv& conv) {
  return 2.0 * static_cast<double>(conv.y.num_elements()) *
         static_cast<double>(conv.filter.num_elements()) /
         static_cast<double>(conv.filter.dim(0));
}

OpCase Forward(const Conv& conv) {
  return {.name = "Conv2D" + conv.name,
          .op = "Conv2D",
          .inputs = {{.type = Float32(conv.x)}, {.type = Float32(conv.filter)}},
          .attributes = AttributesOf(conv),
          .outputs = {Float32(conv.y)},
          .reference =
              [conv](const DoublesList& in) {
                Doubles y = Zeros(conv.y);
                ForEachProduct(conv, [&](size_t i, size_t f, size_t o) {
                  y[o] += in[0][i] * in[1][f];
                });
                return DoublesList{y};
              },
          .tolerance = 1e-4,
          .gradients = conv.is_small ? std::vector{0, 1} : std::vector<int>{},
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

OpCase BackpropInput(const Conv& conv) {
  Attributes attributes = AttributesOf(conv);
  attributes.Set("input_shape", conv.x);
  return {.name = "Conv2DBackpropInput" + conv.name,
          .op = "Conv2DBackpropInput",
          .inputs = {{.type = Float32(conv.filter)}, {.type = Float32(conv.y)}},
          .attributes = attributes,
          .outputs = {Float32(conv.x)},
          .reference =
              [conv](const DoublesList& in) {
                Doubles dx = Zeros(conv.x);
                ForEachProduct(conv, [&](size_t i, size_t f, size_t o) {
                  dx[i] += in[0][f] * in[1][o];
                });
                return DoublesList{dx};
              },
          .tolerance = 1e-4,
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

OpCase BackpropFilter(const Conv& conv) {
  Attributes attributes = AttributesOf(conv);
  attributes.Set("filter_shape", conv.filter);
  return {.name = "Conv2DBackpropFilter" + conv.name,
          .op = "Conv2DBackpropFilter",
          .inputs = {{.type = Float32(conv.x)}, {.type = Float32(conv.y)}},
          .attributes = attributes,
          .outputs = {Float32(conv.filter)},
          .reference =
              [conv](const DoublesList& in) {
                Doubles dfilter = Zeros(conv.filter);
                ForEachProduct(conv, [&](size_t i, size_t f, size_t o) {
                  dfilter[f] += in[0][i] * in[1][o];
                });
                return DoublesList{dfilter};
              },
          .tolerance = 1e-4,
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

// Shapes of networks, cut down in batch and image.
std::vector<Conv> NetworkConvs() {
  return {
      {.name = "Mnist1",
       .x = {2, 28, 28, 1},
       .filter = {32, 5, 5, 1},
       .y = {2, 28, 28, 32},
       .padding = "SAME",
       .pad_before = {2, 2},
       .is_small = false},
      {.name = "Mnist2",
       .x = {2, 14, 14, 32},
       .filter = {64, 5, 5, 32},
       .y = {2, 14, 14, 64},
       .padding = "SAME",
       .pad_before = {2, 2},
       .is_small = false},
      {.name = "ResNetStem",
       .x = {2, 32, 32, 3},
       .filter = {16, 7, 7, 3},
       .y = {2, 16, 16, 16},
       .padding = "SAME",
       .pad_before = {2, 2},
       .strides = {2, 2},
       .is_small = false},
      {.name = "ResNetBlock",
       .x = {1, 14, 14, 64},
       .filter = {64, 3, 3, 64},
       .y = {1, 14, 14, 64},
       .padding = "EXPLICIT",
       .pad_before = {1, 1},
       .pad_after = {1, 1},
       .is_small = false},
      {.name = "Pointwise",
       .x = {2, 7, 5, 12},
       .filter = {20, 1, 1, 12},
       .y = {2, 7, 5, 20},
       .padding = "SAME"},
      {.name = "PointwiseStride2",
       .x = {2, 7, 6, 12},
       .filter = {20, 1, 1, 12},
       .y = {2, 4, 3, 20},
       .padding = "SAME",
       .strides = {2, 2}},
      {.name = "Depthwise",
       .x = {2, 9, 9, 6},
       .filter = {6, 3, 3, 1},
       .y = {2, 5, 5, 6},
       .padding = "SAME",
       .pad_before = {1, 1},
       .strides = {2, 2},
       .groups = 6},
      {.name = "AlexNet2",
       .x = {1, 9, 9, 16},
       .filter = {32, 5, 5, 8},
       .y = {1, 9, 9, 32},
       .padding = "SAME",
       .pad_before = {2, 2},
       .groups = 2,
       .is_small = false},
  };
}

// Odd sizes, and each attribute by itself.
std::vector<Conv> OddConvs() {
  return {
      {.name = "Valid",
       .x = {3, 7, 9, 5},
       .filter = {6, 3, 2, 5},
       .y = {3, 5, 8, 6}},
      {.name = "SameEvenStride",  // the odd element of padding comes after
       .x = {2, 8, 6, 3},
       .filter = {5, 3, 3, 3},
       .y = {2, 4, 3, 5},
       .padding = "SAME",
       .strides = {2, 2}},
      {.name = "ValidStrideLeavesRest",
       .x = {2, 11, 10, 3},
       .filter = {4, 4, 3, 3},
       .y = {2, 3, 4, 4},
       .strides = {3, 2}},
      {.name = "Explicit",
       .x = {2, 5, 7, 3},
       .filter = {4, 3, 3, 3},
       .y = {2, 6, 7, 4},
       .padding = "EXPLICIT",
       .pad_before = {2, 0},
       .pad_after = {1, 2}},
      {.name = "ExplicitBeyondTheWindow",
       .x = {1, 4, 5, 2},
       .filter = {3, 2, 2, 2},
       .y = {1, 8, 8, 3},
       .padding = "EXPLICIT",
       .pad_before = {3, 2},
       .pad_after = {2, 2}},
      {.name = "Dilated",
       .x = {2, 9, 10, 4},
       .filter = {5, 3, 3, 4},
       .y = {2, 9, 10, 5},
       .padding = "SAME",
       .pad_before = {2, 3},
       .dilations = {2, 3}},
      {.name = "DilatedStride2",
       .x = {2, 9, 11, 4},
       .filter = {5, 3, 3, 4},
       .y = {2, 3, 4, 5},
       .strides = {2, 2},
       .dilations = {2, 2}},
      {.name = "Groups",
       .x = {2, 6, 7, 6},
       .filter = {9, 3, 3, 2},
       .y = {2, 6, 7, 9},
       .padding = "SAME",
       .pad_before = {1, 1},
       .groups = 3},
      {.name = "PointwiseGroups",
       .x = {2, 4, 5, 8},
       .filter = {6, 1, 1, 4},
       .y = {2, 4, 5, 6},
       .groups = 2},
      {.name = "RowOnly",
       .x = {2, 5, 9, 7},
       .filter = {3, 1, 7, 7},
       .y = {2, 5, 9, 3},
       .padding = "SAME",
       .pad_before = {0, 3}},
      {.name = "WholeImage",
       .x = {3, 4, 5, 6},
       .filter = {7, 4, 5, 6},
       .y = {3, 1, 1, 7}},
  };
}

BadOp Bad(const std::string& name, const Shape& x, const Shape& filter,
          Attributes attributes, const std::string& error) {
  return {.name = "Conv2D" + name,
          .op = "Conv2D",
          .inputs = {Float32(x), Float32(filter)},
          .attributes = std::move(attributes),
          .error = error};
}

std::vector<BadOp> BadForwards() {
  using List = AttributeValue::List;
  const Shape x = {2, 8, 8, 4};
  const Shape filter = {6, 3, 3, 4};
  return {
      Bad("WithoutPadding", x, filter, {}, "padding"),
      Bad("OfUnknownPadding", x, filter, {{"padding", "FULL"}},
          "'padding' must be SAME, VALID or EXPLICIT; it is 'FULL'"),
      Bad("OfRank3", {8, 8, 4}, filter, {{"padding", "SAME"}},
          "x must be [N, H, W, I]"),
      Bad("OfOtherChannels", x, {6, 3, 3, 5}, {{"padding", "SAME"}},
          "the last dimension of filter [6, 3, 3, 5] must be 4"),
      Bad("OfGroupsThatDoNotDivide", x, filter,
          {{"padding", "SAME"}, {"groups", 3}}, "'groups' must divide the 4"),
      Bad("OfNoGroups", x, filter, {{"padding", "SAME"}, {"groups", 0}},
          "it is 0"),
      Bad("OfStride0", x, filter,
          {{"padding", "SAME"}, {"strides", List{0, 1}}},
          "'strides' must be between 1 and 1048576; it has 0"),
      Bad("OfThreeStrides", x, filter,
          {{"padding", "SAME"}, {"strides", List{1, 2, 1}}},
          "'strides' must have 2 entries"),
      Bad("OfHugeDilation", x, filter,
          {{"padding", "SAME"}, {"dilations", List{1, int64_t{1} << 40}}},
          "'dilations' must be between"),
      Bad("LargerThanTheImage", x, {6, 9, 3, 4}, {{"padding", "VALID"}},
          "a window of 9 elements does not fit into a dimension of 8"),
      Bad("OfPaddingsWithoutExplicit", x, filter,
          {{"padding", "SAME"},
           {"explicit_paddings", List{List{1, 1}, List{1, 1}}}},
          "'explicit_paddings' needs padding EXPLICIT"),
      Bad("OfExplicitWithoutPaddings", x, filter, {{"padding", "EXPLICIT"}},
          "explicit_paddings"),
      Bad("OfOnePadding", x, filter,
          {{"padding", "EXPLICIT"}, {"explicit_paddings", List{List{1, 1}}}},
          "'explicit_paddings' must have 2 pairs"),
      Bad("OfNegativePadding", x, filter,
          {{"padding", "EXPLICIT"},
           {"explicit_paddings", List{List{-1, 1}, List{0, 0}}}},
          "'explicit_paddings' must be between 0"),
  };
}

std::vector<BadOp> BadGradients() {
  const Shape x = {2, 8, 8, 4};
  const Shape filter = {6, 3, 3, 4};
  return {
      {.name = "Conv2DBackpropInputOfOtherDy",
       .op = "Conv2DBackpropInput",
       .inputs = {Float32(filter), Float32({2, 7, 8, 6})},
       .attributes = {{"padding", "SAME"}, {"input_shape", x}},
       .error = "dy must be float32[2, 8, 8, 6], as the convolution's output"},
      {.name = "Conv2DBackpropInputOfNoShape",
       .op = "Conv2DBackpropInput",
       .inputs = {Float32(filter), Float32({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"}},
       .error = "input_shape"},
      {.name = "Conv2DBackpropFilterOfOtherDy",
       .op = "Conv2DBackpropFilter",
       .inputs = {Float32(x), Float32({2, 8, 8, 5})},
       .attributes = {{"padding", "SAME"}, {"filter_shape", filter}},
       .error = "dy must be float32[2, 8, 8, 6]"},
      {.name = "Conv2DBackpropFilterOfEmptyFilter",
       .op = "Conv2DBackpropFilter",
       .inputs = {Float32(x), Float32({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"},
                      {"filter_shape", Shape({6, 0, 3, 4})}},
       .error = "filter"},
      {.name = "Conv2DOfTwoDTypes",
       .op = "Conv2D",
       .inputs = {Float32(x), {.dtype = DType::kBFloat16, .shape = filter}},
       .attributes = {{"padding", "SAME"}},
       .error = "filter must be float32"},
  };
}

}  // namespace

OpCases Conv2DCases() {
  OpCases cases;
  for (const std::vector<Conv>& convs : {NetworkConvs(), OddConvs()}) {
    for (const Conv& conv : convs) {
      cases.good.push_back(Forward(conv));
      cases.good.push_back(BackpropInput(conv));
      cases.good.push_back(BackpropFilter(conv));
    }
  }
  cases.bad = BadForwards();
  for (BadOp& bad : BadGradients()) cases.bad.push_back(std::move(bad));
  return cases;
}

}  // namespace spillway::testing

// Conv2D, Conv2DBackpropInput, Conv2DBackpropFilter.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/conv_case.h"

namespace spillway::testing {
namespace {

// Shapes of real networks, with smaller batches and images.
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
      {.name = "DepthwiseMobileNet",  // more channels than a vector register
       .x = {2, 8, 9, 40},
       .filter = {40, 3, 3, 1},
       .y = {2, 8, 9, 40},
       .padding = "SAME",
       .pad_before = {1, 1},
       .groups = 40,
       .is_small = false},
      {.name = "DepthwiseLarge",
       .x = {1, 9, 8, 24},
       .filter = {24, 5, 5, 1},
       .y = {1, 9, 8, 24},
       .padding = "SAME",
       .pad_before = {2, 2},
       .groups = 24,
       .is_small = false},
      {.name = "DepthwiseNasNet",
       .x = {2, 11, 10, 44},
       .filter = {44, 7, 7, 1},
       .y = {2, 6, 5, 44},
       .padding = "SAME",
       .pad_before = {3, 2},
       .strides = {2, 2},
       .groups = 44,
       .is_small = false},
      {.name = "DepthwiseDilated",
       .x = {1, 9, 8, 7},
       .filter = {7, 3, 2, 1},
       .y = {1, 5, 6, 7},
       .padding = "EXPLICIT",
       .pad_before = {0, 5},
       .pad_after = {0, 0},
       .strides = {1, 2},
       .dilations = {2, 2},
       .groups = 7},
      {.name = "DepthwiseTwice",  // two filters per channel
       .x = {2, 6, 7, 5},
       .filter = {10, 3, 3, 1},
       .y = {2, 6, 7, 10},
       .padding = "SAME",
       .pad_before = {1, 1},
       .groups = 5},
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

// Odd sizes, and each attribute alone.
std::vector<Conv> OddConvs() {
  return {
      {.name = "Valid",
       .x = {3, 7, 9, 5},
       .filter = {6, 3, 2, 5},
       .y = {3, 5, 8, 6}},
      {.name = "SameEvenStride",  // an odd element of padding comes after
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
      // As tensor cores need them: rows of 16 bytes in any dtype.
      {.name = "MultiplesOfEight",
       .x = {2, 6, 5, 16},
       .filter = {24, 3, 3, 8},
       .y = {2, 6, 5, 24},
       .padding = "SAME",
       .pad_before = {1, 1},
       .groups = 2},
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

std::vector<BadOp> BadForwards() {
  using List = AttributeValue::List;
  const BadConv bad = {"Conv2D"};
  const Shape x = {2, 8, 8, 4};
  const Shape filter = {6, 3, 3, 4};
  return {
      bad("WithoutPadding", x, filter, {}, "padding"),
      bad("OfUnknownPadding", x, filter, {{"padding", "FULL"}},
          "'padding' must be SAME, VALID or EXPLICIT; it is 'FULL'"),
      bad("OfRank3", {8, 8, 4}, filter, {{"padding", "SAME"}},
          "x must be [N, H, W, I]"),
      bad("OfOtherChannels", x, {6, 3, 3, 5}, {{"padding", "SAME"}},
          "the last dimension of filter [6, 3, 3, 5] must be 4"),
      bad("OfGroupsThatDoNotDivide", x, filter,
          {{"padding", "SAME"}, {"groups", 3}}, "'groups' must divide the 4"),
      bad("OfNoGroups", x, filter, {{"padding", "SAME"}, {"groups", 0}},
          "it is 0"),
      bad("OfStride0", x, filter,
          {{"padding", "SAME"}, {"strides", List{0, 1}}},
          "'strides' must be between 1 and 1048576; it has 0"),
      bad("OfThreeStrides", x, filter,
          {{"padding", "SAME"}, {"strides", List{1, 2, 1}}},
          "'strides' must have 2 entries"),
      bad("OfHugeDilation", x, filter,
          {{"padding", "SAME"}, {"dilations", List{1, int64_t{1} << 40}}},
          "'dilations' must be between"),
      bad("LargerThanTheImage", x, {6, 9, 3, 4}, {{"padding", "VALID"}},
          "a window of 9 elements does not fit into a dimension of 8"),
      bad("OfPaddingsWithoutExplicit", x, filter,
          {{"padding", "SAME"},
           {"explicit_paddings", List{List{1, 1}, List{1, 1}}}},
          "'explicit_paddings' needs padding EXPLICIT"),
      bad("OfExplicitWithoutPaddings", x, filter, {{"padding", "EXPLICIT"}},
          "explicit_paddings"),
      bad("OfThreePaddings", x, filter,
          {{"padding", "EXPLICIT"},
           {"explicit_paddings", List{List{1, 1}, List{1, 1}, List{1, 1}}}},
          "'explicit_paddings' must have 2 pairs"),
      bad("OfNegativePadding", x, filter,
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
      {.name = "Conv2DBackpropInputOfRank5",
       .op = "Conv2DBackpropInput",
       .inputs = {Float32(filter), Float32({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"},
                      {"input_shape", Shape({2, 8, 8, 8, 4})}},
       .error = "x must be [N, H, W, I]"},
  };
}

std::vector<BadOp> BadAddends() {
  const Shape x = {2, 8, 8, 4};
  const auto bad = [&](const std::string& name, const Shape& filter,
                       const Shape& dy, const TensorType& addend,
                       int64_t stride, const std::string& error) -> BadOp {
    return {.name = "Conv2DBackpropInputWith" + name,
            .op = "Conv2DBackpropInput",
            .inputs = {Float32(filter), Float32(dy), addend},
            .attributes = {{"padding", "SAME"},
                           {"strides", AttributeValue::List{stride, stride}},
                           {"input_shape", x}},
            .error = error};
  };
  const std::string needs = "an addend needs a window of one element";
  return {
      bad("AddendOfOtherShape", {6, 1, 1, 4}, {2, 8, 8, 6},
          Float32({2, 8, 8, 6}), 1,
          "addend must be float32[2, 8, 8, 4], as dx"),
      bad("AddendOfOtherDType", {6, 1, 1, 4}, {2, 8, 8, 6}, BFloat16s(x), 1,
          "addend must be float32[2, 8, 8, 4], as dx"),
      bad("AddendOfALargerWindow", {6, 3, 3, 4}, {2, 8, 8, 6}, Float32(x), 1,
          needs),
      bad("AddendOfStride2", {6, 1, 1, 4}, {2, 4, 4, 6}, Float32(x), 2, needs),
  };
}

std::vector<BadOp> BadDTypes() {
  const Shape x = {2, 8, 8, 4};
  const Shape filter = {6, 3, 3, 4};
  const TensorType half = {.dtype = DType::kFloat16, .shape = filter};
  const Attributes same = {{"padding", "SAME"}};
  return {
      {.name = "Conv2DOfIntegers",
       .op = "Conv2D",
       .inputs = {Int32(x), Float32(filter)},
       .attributes = same,
       .error = "x must be float32"},
      {.name = "Conv2DOfShortFilter",
       .op = "Conv2D",
       .inputs = {Float32(x), BFloat16s(filter)},
       .attributes = same,
       .error = "filter must be float32; it is bfloat16[6, 3, 3, 4]"},
      {.name = "Conv2DOfTwoShortDTypes",
       .op = "Conv2D",
       .inputs = {BFloat16s(x), half},
       .attributes = same,
       .error = "filter must be bfloat16 or float32; it is float16"},
      {.name = "Conv2DBackpropInputOfShortFilter",
       .op = "Conv2DBackpropInput",
       .inputs = {BFloat16s(filter), Float32({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"}, {"input_shape", x}},
       .error = "filter must be float32; it is bfloat16"},
      {.name = "Conv2DBackpropFilterOfTwoDTypes",
       .op = "Conv2DBackpropFilter",
       .inputs = {Float32(x), BFloat16s({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"}, {"filter_shape", filter}},
       .error = "x must be bfloat16"},
      {.name = "Conv2DBackpropFilterInIntegers",
       .op = "Conv2DBackpropFilter",
       .inputs = {BFloat16s(x), BFloat16s({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"},
                      {"filter_shape", filter},
                      {"dtype", DType::kInt32}},
       .error = "dfilter must be bfloat16 or float32; it is int32"},
      {.name = "Conv2DBackpropFilterShorterThanDy",
       .op = "Conv2DBackpropFilter",
       .inputs = {Float32(x), Float32({2, 8, 8, 6})},
       .attributes = {{"padding", "SAME"},
                      {"filter_shape", filter},
                      {"dtype", DType::kBFloat16}},
       .error = "dfilter must be float32; it is bfloat16"},
  };
}

}  // namespace

OpCases Conv2DCases() {
  OpCases cases;
  for (const std::vector<Conv>& convs : {NetworkConvs(), OddConvs()}) {
    for (const Conv& conv : convs) {
      for (OpCase& op_case : CasesOf(conv)) {
        cases.good.push_back(std::move(op_case));
      }
    }
  }
  cases.bad = BadForwards();
  for (BadOp& bad : BadGradients()) cases.bad.push_back(std::move(bad));
  for (BadOp& bad : BadAddends()) cases.bad.push_back(std::move(bad));
  for (BadOp& bad : BadDTypes()) cases.bad.push_back(std::move(bad));
  return cases;
}

}  // namespace spillway::testing

// Conv3D, Conv3DBackpropInput, Conv3DBackpropFilter.
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/conv_case.h"

namespace spillway::testing {
namespace {

std::vector<Conv> Convs3D() {
  return {
      {.name = "UNetBlock",
       .x = {1, 5, 6, 7, 16},
       .filter = {32, 3, 3, 3, 16},
       .y = {1, 5, 6, 7, 32},
       .padding = "SAME",
       .pad_before = {1, 1, 1},
       .is_small = false},
      {.name = "OfTwoElements",  // for some of these oneDNN has only sgemm
       .x = {3, 2, 2, 2, 16},
       .filter = {32, 3, 3, 3, 16},
       .y = {3, 2, 2, 2, 32},
       .padding = "SAME",
       .pad_before = {1, 1, 1},
       .is_small = false},
      {.name = "OfOneElement",
       .x = {3, 1, 1, 1, 16},
       .filter = {32, 3, 3, 3, 16},
       .y = {3, 1, 1, 1, 32},
       .padding = "SAME",
       .pad_before = {1, 1, 1},
       .is_small = false},
      {.name = "Stem",
       .x = {2, 6, 9, 8, 1},
       .filter = {16, 3, 5, 5, 1},
       .y = {2, 6, 5, 4, 16},
       .padding = "SAME",
       .pad_before = {1, 2, 1},
       .strides = {1, 2, 2},
       .is_small = false},
      {.name = "Valid",
       .x = {2, 4, 5, 7, 3},
       .filter = {4, 2, 3, 2, 3},
       .y = {2, 3, 3, 6, 4}},
      {.name = "SameStride2",
       .x = {1, 5, 6, 7, 2},
       .filter = {3, 3, 3, 3, 2},
       .y = {1, 3, 3, 4, 3},
       .padding = "SAME",
       .pad_before = {1, 0, 1},
       .strides = {2, 2, 2}},
      {.name = "Explicit",
       .x = {1, 3, 4, 5, 3},
       .filter = {2, 2, 3, 3, 3},
       .y = {1, 5, 5, 5, 2},
       .padding = "EXPLICIT",
       .pad_before = {2, 0, 1},
       .pad_after = {1, 3, 1}},
      {.name = "Dilated",
       .x = {1, 7, 6, 5, 2},
       .filter = {3, 3, 2, 2, 2},
       .y = {1, 7, 3, 5, 3},
       .padding = "SAME",
       .pad_before = {2, 0, 1},
       .strides = {1, 2, 1},
       .dilations = {2, 1, 3}},
      {.name = "Groups",
       .x = {1, 3, 4, 5, 6},
       .filter = {9, 3, 2, 3, 2},
       .y = {1, 3, 4, 5, 9},
       .padding = "SAME",
       .pad_before = {1, 0, 1},
       .groups = 3},
      {.name = "Depthwise",
       .x = {1, 4, 5, 6, 20},
       .filter = {20, 3, 3, 3, 1},
       .y = {1, 4, 5, 6, 20},
       .padding = "SAME",
       .pad_before = {1, 1, 1},
       .groups = 20,
       .is_small = false},
      {.name = "Pointwise",
       .x = {2, 3, 2, 4, 6},
       .filter = {5, 1, 1, 1, 6},
       .y = {2, 3, 2, 4, 5}},
      {.name = "PointwiseStride2",
       .x = {2, 4, 3, 5, 6},
       .filter = {5, 1, 1, 1, 6},
       .y = {2, 2, 2, 3, 5},
       .strides = {2, 2, 2}},
      {.name = "InOnePlane",
       .x = {2, 3, 5, 6, 4},
       .filter = {3, 1, 3, 3, 4},
       .y = {2, 3, 5, 6, 3},
       .padding = "SAME",
       .pad_before = {0, 1, 1}},
      {.name = "WholeVolume",
       .x = {2, 3, 4, 2, 5},
       .filter = {6, 3, 4, 2, 5},
       .y = {2, 1, 1, 1, 6}},
  };
}

std::vector<BadOp> BadForwards3D() {
  using List = AttributeValue::List;
  const BadConv bad = {"Conv3D"};
  const Shape x = {2, 6, 8, 8, 4};
  const Shape filter = {6, 3, 3, 3, 4};
  return {
      bad("OfRank4", {6, 8, 8, 4}, filter, {{"padding", "SAME"}},
          "x must be [N, D, H, W, I] and filter [O, KD, KH, KW, I / groups]; "
          "they are [6, 8, 8, 4]"),
      bad("OfFilterOfRank4", x, {6, 3, 3, 4}, {{"padding", "SAME"}},
          "x must be [N, D, H, W, I]"),
      bad("OfOtherChannels", x, {6, 3, 3, 3, 5}, {{"padding", "SAME"}},
          "the last dimension of filter [6, 3, 3, 3, 5] must be 4"),
      bad("OfGroupsThatDoNotDivide", x, filter,
          {{"padding", "SAME"}, {"groups", 4}}, "'groups' must divide the 4"),
      bad("OfTwoStrides", x, filter,
          {{"padding", "SAME"}, {"strides", List{1, 2}}},
          "'strides' must have 3 entries"),
      bad("OfTwoDilations", x, filter,
          {{"padding", "SAME"}, {"dilations", List{1, 2}}},
          "'dilations' must have 3 entries"),
      bad("LargerThanTheVolume", x, {6, 7, 3, 3, 4}, {{"padding", "VALID"}},
          "a window of 7 elements does not fit into a dimension of 6"),
      bad("OfTwoPaddings", x, filter,
          {{"padding", "EXPLICIT"},
           {"explicit_paddings", List{List{1, 1}, List{1, 1}}}},
          "'explicit_paddings' must have 3 pairs"),
      bad("OfUnknownPadding", x, filter, {{"padding", "FULL"}},
          "'padding' must be SAME, VALID or EXPLICIT"),
  };
}

std::vector<BadOp> BadGradients3D() {
  const Shape x = {2, 6, 8, 8, 4};
  const Shape filter = {6, 3, 3, 3, 4};
  return {
      {.name = "Conv3DBackpropInputOfOtherDy",
       .op = "Conv3DBackpropInput",
       .inputs = {Float32(filter), Float32({2, 5, 8, 8, 6})},
       .attributes = {{"padding", "SAME"}, {"input_shape", x}},
       .error = "dy must be float32[2, 6, 8, 8, 6], as the convolution's"},
      {.name = "Conv3DBackpropInputOfRank4",
       .op = "Conv3DBackpropInput",
       .inputs = {Float32(filter), Float32({2, 6, 8, 8, 6})},
       .attributes = {{"padding", "SAME"},
                      {"input_shape", Shape({6, 8, 8, 4})}},
       .error = "x must be [N, D, H, W, I]"},
      {.name = "Conv3DBackpropFilterOfOtherDy",
       .op = "Conv3DBackpropFilter",
       .inputs = {Float32(x), Float32({2, 6, 8, 8, 5})},
       .attributes = {{"padding", "SAME"}, {"filter_shape", filter}},
       .error = "dy must be float32[2, 6, 8, 8, 6]"},
      {.name = "Conv3DBackpropFilterOfNoShape",
       .op = "Conv3DBackpropFilter",
       .inputs = {Float32(x), Float32({2, 6, 8, 8, 6})},
       .attributes = {{"padding", "SAME"}},
       .error = "filter_shape"},
  };
}

}  // namespace

OpCases Conv3DCases() {
  OpCases cases;
  for (const Conv& conv : Convs3D()) {
    for (OpCase& op_case : CasesOf(conv)) {
      cases.good.push_back(std::move(op_case));
    }
  }
  cases.bad = BadForwards3D();
  for (BadOp& bad : BadGradients3D()) cases.bad.push_back(std::move(bad));
  return cases;
}

}  // namespace spillway::testing

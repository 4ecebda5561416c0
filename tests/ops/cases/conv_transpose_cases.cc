// Conv2DTranspose, Conv3DTranspose. In the lists of shapes, x and y are those
// of the transposed convolution.
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/conv_case.h"

namespace spillway::testing {
namespace {

std::vector<Conv> ConvTransposes() {
  return {
      {.name = "UNetUp",  // to twice the size: windows side by side
       .x = {2, 8, 10, 6},
       .filter = {12, 2, 2, 6},
       .y = {2, 4, 5, 12},
       .strides = {2, 2}},
      {.name = "GeneratorUp",  // to twice the size: windows overlap
       .x = {2, 8, 6, 5},
       .filter = {7, 4, 4, 5},
       .y = {2, 4, 3, 7},
       .padding = "SAME",
       .pad_before = {1, 1},
       .strides = {2, 2}},
      {.name = "OddSize",  // x could be 8 or 9 rows high for this y
       .x = {1, 9, 7, 3},
       .filter = {4, 3, 3, 3},
       .y = {1, 5, 4, 4},
       .padding = "SAME",
       .pad_before = {1, 1},
       .strides = {2, 2}},
      {.name = "LeavesRest",  // the last rows of the output are zeros
       .x = {1, 8, 9, 3},
       .filter = {4, 2, 2, 3},
       .y = {1, 3, 3, 4},
       .strides = {3, 3}},
      {.name = "Stride1",
       .x = {2, 6, 7, 4},
       .filter = {5, 3, 3, 4},
       .y = {2, 4, 5, 5}},
      {.name = "ExplicitGroups",
       .x = {1, 7, 6, 6},
       .filter = {4, 3, 2, 3},
       .y = {1, 5, 3, 4},
       .padding = "EXPLICIT",
       .pad_before = {2, 0},
       .pad_after = {3, 1},
       .strides = {2, 2},
       .groups = 2},
      {.name = "Dilated",
       .x = {1, 8, 9, 3},
       .filter = {2, 3, 2, 3},
       .y = {1, 4, 6, 2},
       .dilations = {2, 3}},
      {.name = "Pointwise",
       .x = {2, 3, 4, 6},
       .filter = {5, 1, 1, 6},
       .y = {2, 3, 4, 5}},
      {.name = "UNetUp",
       .x = {1, 4, 6, 8, 3},
       .filter = {5, 2, 2, 2, 3},
       .y = {1, 2, 3, 4, 5},
       .strides = {2, 2, 2}},
      {.name = "Same",
       .x = {1, 5, 4, 6, 2},
       .filter = {3, 3, 3, 3, 2},
       .y = {1, 3, 4, 2, 3},
       .padding = "SAME",
       .pad_before = {1, 1, 0},
       .strides = {2, 1, 3}},
      {.name = "Stride1",
       .x = {1, 4, 5, 4, 2},
       .filter = {3, 2, 3, 2, 2},
       .y = {1, 3, 3, 3, 3}},
  };
}

std::vector<BadOp> BadTransposes() {
  using List = AttributeValue::List;
  const BadConv bad = {"Conv2DTranspose"};
  const Shape x = {2, 4, 4, 6};
  const Shape filter = {6, 2, 2, 3};
  const Shape y = {2, 8, 8, 3};
  const List two = {2, 2};
  const Attributes good = {
      {"padding", "VALID"}, {"strides", two}, {"output_shape", y}};
  return {
      bad("WithoutOutputShape", x, filter, {{"padding", "VALID"}},
          "output_shape"),
      bad("ToRank3", x, filter,
          {{"padding", "VALID"}, {"output_shape", Shape({8, 8, 3})}},
          "in the convolution that is transposed, whose x has output_shape: x "
          "must be [N, H, W, I]"),
      bad("OfOtherFilters", x, {5, 2, 2, 3}, good,
          "x must be float32[2, 4, 4, 5], as the output of the convolution"),
      bad("ToOtherSize", x, filter,
          {{"padding", "VALID"},
           {"strides", two},
           {"output_shape", Shape({2, 10, 8, 3})}},
          "x must be float32[2, 5, 4, 6]"),
      bad("ToOtherChannels", x, filter,
          {{"padding", "VALID"},
           {"strides", two},
           {"output_shape", Shape({2, 8, 8, 4})}},
          "the last dimension of filter [6, 2, 2, 3] must be 4"),
      bad("WithoutPadding", x, filter, {{"output_shape", y}}, "padding"),
      {.name = "Conv2DTransposeOfIntegers",
       .op = "Conv2DTranspose",
       .inputs = {Int32(x), Float32(filter)},
       .attributes = good,
       .error = "x must be float32"},
      {.name = "Conv2DTransposeOfShortFilter",
       .op = "Conv2DTranspose",
       .inputs = {Float32(x), BFloat16s(filter)},
       .attributes = good,
       .error = "filter must be float32; it is bfloat16[6, 2, 2, 3]"},
      {.name = "Conv3DTransposeOfRank4",
       .op = "Conv3DTranspose",
       .inputs = {Float32(x), Float32(filter)},
       .attributes = good,
       .error = "x must be [N, D, H, W, I]"},
      {.name = "Conv3DTransposeOfTwoStrides",
       .op = "Conv3DTranspose",
       .inputs = {Float32({2, 4, 4, 4, 6}), Float32({6, 2, 2, 2, 3})},
       .attributes = {{"padding", "VALID"},
                      {"strides", two},
                      {"output_shape", Shape({2, 8, 8, 8, 3})}},
       .error = "'strides' must have 3 entries"},
  };
}

}  // namespace

OpCases ConvTransposeCases() {
  OpCases cases;
  for (const Conv& conv : ConvTransposes()) {
    for (OpCase& op_case : TransposeCasesOf(conv)) {
      cases.good.push_back(std::move(op_case));
    }
  }
  cases.bad = BadTransposes();
  return cases;
}

}  // namespace spillway::testing

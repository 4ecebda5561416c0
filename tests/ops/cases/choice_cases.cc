// Equal, Less, LessEqual, LogicalAnd, LogicalOr, LogicalXor; Select.
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

using TestFn = bool (*)(double, double);

TensorType Bools(const Shape& shape) {
  return {.dtype = DType::kBool, .shape = shape};
}

// Few values, so that many are equal.
CaseInput FewValues(DType dtype, const Shape& shape) {
  return {.type = {.dtype = dtype, .shape = shape},
          .fill = Fill::kIntegers,
          .low = 0,
          .high = dtype == DType::kBool ? 2.0 : 4.0};
}

struct TestShapes {
  Shape a = {3, 5, 7};
  Shape b = {3, 5, 7};
  Shape y = {3, 5, 7};
};

OpCase TestCase(const std::string& op, const std::string& suffix, DType dtype,
                TestFn f, const TestShapes& shapes = {}) {
  return {.name = op + suffix,
          .op = op,
          .inputs = {FewValues(dtype, shapes.a), FewValues(dtype, shapes.b)},
          .outputs = {Bools(shapes.y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(shapes.y, [&](const Index& i) {
                  return f(in[0][RepeatedAt(shapes.a, i)],
                           in[1][RepeatedAt(shapes.b, i)])
                             ? 1.0
                             : 0.0;
                })};
              },
          .flops = static_cast<double>(shapes.y.num_elements())};
}

std::vector<OpCase> TestCases() {
  const TestFn equal = [](double a, double b) { return a == b; };
  const TestFn less = [](double a, double b) { return a < b; };
  const TestFn less_equal = [](double a, double b) { return a <= b; };
  const TestFn both = [](double a, double b) { return a + b == 2; };
  const TestFn either = [](double a, double b) { return a + b >= 1; };
  const TestFn one = [](double a, double b) { return a + b == 1; };
  const TestShapes of_number = {.b = {}};
  const TestShapes of_both = {
      .a = {2, 1, 4, 1}, .b = {1, 3, 1, 5}, .y = {2, 3, 4, 5}};
  const TestShapes large = {.a = {300, 1, 70}, .b = {5, 1}, .y = {300, 5, 70}};
  return {
      TestCase("Equal", "", DType::kFloat32, equal),
      TestCase("Equal", "OfInt32", DType::kInt32, equal, of_number),
      TestCase("Equal", "OfInt64", DType::kInt64, equal, of_both),
      TestCase("Equal", "OfBools", DType::kBool, equal),
      TestCase("Equal", "OfBytes", DType::kUInt8, equal),
      TestCase("Equal", "Large", DType::kFloat32, equal, large),
      TestCase("Less", "", DType::kFloat32, less, of_both),
      TestCase("Less", "OfBFloat16", DType::kBFloat16, less, of_number),
      TestCase("Less", "OfInt32", DType::kInt32, less),
      TestCase("LessEqual", "", DType::kFloat32, less_equal, of_number),
      TestCase("LessEqual", "OfInt64", DType::kInt64, less_equal),
      TestCase("LogicalAnd", "", DType::kBool, both),
      TestCase("LogicalAnd", "OfBoth", DType::kBool, both, of_both),
      TestCase("LogicalOr", "", DType::kBool, either, of_number),
      TestCase("LogicalXor", "", DType::kBool, one, of_both),
  };
}

struct SelectShapes {
  Shape condition = {3, 5, 7};
  Shape a = {3, 5, 7};
  Shape b = {3, 5, 7};
  Shape y = {3, 5, 7};
};

OpCase SelectCase(const std::string& suffix, const SelectShapes& shapes = {}) {
  return {.name = "Select" + suffix,
          .op = "Select",
          .inputs = {FewValues(DType::kBool, shapes.condition),
                     {.type = Float32(shapes.a)},
                     {.type = Float32(shapes.b)}},
          .outputs = {Float32(shapes.y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(shapes.y, [&](const Index& i) {
                  return in[0][RepeatedAt(shapes.condition, i)] != 0
                             ? in[1][RepeatedAt(shapes.a, i)]
                             : in[2][RepeatedAt(shapes.b, i)];
                })};
              },
          .gradients = {1, 2},
          .flops = static_cast<double>(shapes.y.num_elements())};
}

OpCase SelectOf(DType dtype, const std::string& name) {
  OpCase op_case = SelectCase("Of" + name);
  for (const size_t input : {1, 2}) {
    op_case.inputs[input] = FewValues(dtype, {3, 5, 7});
  }
  op_case.outputs = {{.dtype = dtype, .shape = {3, 5, 7}}};
  op_case.gradients = {};
  return op_case;
}

std::vector<OpCase> SelectCases() {
  return {
      SelectCase(""),
      // A causal mask over scores.
      SelectCase(
          "ByMask",
          {.condition = {4, 4}, .a = {2, 4, 4}, .b = {}, .y = {2, 4, 4}}),
      SelectCase("ByRow", {.condition = {5, 1}}),
      SelectCase("OfNumbers", {.a = {}, .b = {}}),
      SelectCase(
          "OfAll",
          {.condition = {2, 1, 1}, .a = {3, 1}, .b = {4}, .y = {2, 3, 4}}),
  };
}

std::vector<OpCase> LargeSelects() {
  OpCase large = SelectCase(
      "Large",
      {.condition = {300, 1, 70}, .a = {5, 1}, .b = {70}, .y = {300, 5, 70}});
  large.gradients = {};
  return {large, SelectOf(DType::kInt32, "Int32"),
          SelectOf(DType::kInt64, "Int64"), SelectOf(DType::kBool, "Bools")};
}

std::vector<BadOp> BadChoices() {
  const TensorType bools = Bools({2});
  return {
      {.name = "EqualOfTwoDTypes",
       .op = "Equal",
       .inputs = {Float32({2}), Int32({2})},
       .error = "b must be float32; it is int32[2]"},
      {.name = "LessOfBools",
       .op = "Less",
       .inputs = {bools, bools},
       .error = "a must be of numbers; it is bool[2]"},
      {.name = "LessEqualOfTwoShapes",
       .op = "LessEqual",
       .inputs = {Float32({2}), Float32({3})},
       .error = "[2] and [3] have no common shape"},
      {.name = "LogicalAndOfNumbers",
       .op = "LogicalAnd",
       .inputs = {Float32({2}), Float32({2})},
       .error = "a must be bool; it is float32[2]"},
      {.name = "LogicalOrOfTwoDTypes",
       .op = "LogicalOr",
       .inputs = {bools, Int32({2})},
       .error = "b must be bool; it is int32[2]"},
      {.name = "LogicalXorOfTwoShapes",
       .op = "LogicalXor",
       .inputs = {bools, Bools({3})},
       .error = "[2] and [3] have no common shape"},
      {.name = "SelectByNumbers",
       .op = "Select",
       .inputs = {Float32({2}), Float32({2}), Float32({2})},
       .error = "condition must be bool; it is float32[2]"},
      {.name = "SelectOfTwoDTypes",
       .op = "Select",
       .inputs = {bools, Float32({2}), Int32({2})},
       .error = "b must be float32; it is int32[2]"},
      {.name = "SelectOfTwoShapes",
       .op = "Select",
       .inputs = {bools, Float32({2}), Float32({3})},
       .error = "[2] and [3] have no common shape"},
  };
}

}  // namespace

OpCases ChoiceCases() {
  std::vector<OpCase> good = SelectCases();
  for (OpCase& narrow : AllInBFloat16(good)) good.push_back(std::move(narrow));
  for (std::vector<OpCase>& cases :
       std::vector<std::vector<OpCase>>{LargeSelects(), TestCases()}) {
    for (OpCase& op_case : cases) good.push_back(std::move(op_case));
  }
  return {.good = good, .bad = BadChoices()};
}

}  // namespace spillway::testing

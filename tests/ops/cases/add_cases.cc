// Add, Maximum, Minimum, Mul, Pow, RealDiv, Sub, TruncateDiv, GreaterShare;
// AddN, BiasAdd, BiasAddGrad, ScaleRows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

using BinaryFn = double (*)(double, double);

double Plus(double a, double b) { return a + b; }
double Minus(double a, double b) { return a - b; }
double Times(double a, double b) { return a * b; }

// Repeats b over a: valid for equal shapes, scalars and channel vectors.
Reference Repeating(BinaryFn f) {
  return [f](const DoublesList& in) {
    Doubles y;
    for (size_t i = 0; i < in[0].size(); ++i) {
      y.push_back(f(in[0][i], in[1][i % in[1].size()]));
    }
    return DoublesList{y};
  };
}

OpCase Binary(const std::string& op, const std::string& suffix, const Shape& b,
              BinaryFn f) {
  const Shape a = {3, 5, 7};
  return {.name = op + suffix,
          .op = op,
          .inputs = {{.type = Float32(a)}, {.type = Float32(b)}},
          .outputs = {Float32(a)},
          .reference = Repeating(f),
          .gradients = {0, 1},
          .flops = 105};
}

// Both operands are repeated to y's shape.
OpCase Repeated(const std::string& op, const std::string& suffix,
                const Shape& a, const Shape& b, const Shape& y, BinaryFn f) {
  return {.name = op + suffix,
          .op = op,
          .inputs = {{.type = Float32(a)},
                     {.type = Float32(b),
                      .fill = Fill::kUniform,
                      .low = 0.5,
                      .high = 2}},
          .outputs = {Float32(y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(y, [&](const Index& index) {
                  return f(in[0][RepeatedAt(a, index)],
                           in[1][RepeatedAt(b, index)]);
                })};
              },
          .gradients = {0, 1},
          .flops = static_cast<double>(y.num_elements())};
}

std::vector<OpCase> RepeatedCases() {
  const auto over = [](double a, double b) { return a / b; };
  return {
      Repeated("Mul", "ByGate", {2, 3, 4, 5}, {2, 1, 1, 5}, {2, 3, 4, 5},
               Times),
      Repeated("Add", "OfRow", {4, 3}, {4, 1}, {4, 3}, Plus),
      Repeated("Add", "OfMoreDimensions", {3, 1}, {2, 3, 4}, {2, 3, 4}, Plus),
      Repeated("Sub", "OfBoth", {2, 1, 4, 1}, {1, 3, 1, 5}, {2, 3, 4, 5},
               Minus),
      Repeated("Mul", "OfVectorByColumn", {5}, {4, 1}, {4, 5}, Times),
      Repeated("Add", "OfScalarAndMatrix", {}, {3, 4}, {3, 4}, Plus),
      Repeated("Add", "OfOnes", {1, 1}, {1}, {1, 1}, Plus),
      Repeated("RealDiv", "", {3, 5, 7}, {3, 5, 7}, {3, 5, 7}, over),
      Repeated("RealDiv", "ByScalar", {3, 5, 7}, {}, {3, 5, 7}, over),
  };
}

// Sums of so many gradients are for float32.
std::vector<OpCase> LargeRepeatedCases() {
  const auto over = [](double a, double b) { return a / b; };
  return {
      Repeated("RealDiv", "OfEightDimensions", {2, 1, 2, 1, 2, 1, 2, 1},
               {1, 3, 1, 2, 1, 3, 1, 2}, {2, 3, 2, 2, 2, 3, 2, 2}, over),
      // Every thread gets a part.
      Repeated("Mul", "LargeByColumn", {300, 1, 70}, {300, 5, 1}, {300, 5, 70},
               Times),
  };
}

double Larger(double a, double b) { return std::max(a, b); }
double Smaller(double a, double b) { return std::min(a, b); }
double Share(double a, double b) { return a == b ? 0.5 : a > b ? 1 : 0; }

// Small integers, so that some are equal: there, central differences are half
// of the slope too.
OpCase WithEqualOperands(OpCase op_case) {
  op_case.name += "OfEqual";
  for (CaseInput& input : op_case.inputs) {
    input.fill = Fill::kIntegers;
    input.low = 0;
    input.high = 3;
  }
  return op_case;
}

std::vector<OpCase> ChoosingCases() {
  const Shape a = {3, 5, 7};
  OpCase share = WithEqualOperands(
      Repeated("GreaterShare", "", a, {5, 1}, {3, 5, 7}, Share));
  share.gradients = {};
  return {
      share,
      Repeated("Maximum", "", a, a, a, Larger),
      WithEqualOperands(Repeated("Maximum", "OfRow", a, {7}, a, Larger)),
      Repeated("Maximum", "OfBoth", {2, 1, 4}, {3, 1}, {2, 3, 4}, Larger),
      Repeated("Minimum", "OfNumber", a, {}, a, Smaller),
      WithEqualOperands(Repeated("Minimum", "OfColumn", a, {5, 1}, a, Smaller)),
  };
}

std::vector<OpCase> PowCases() {
  const auto pow = [](double a, double b) { return std::pow(a, b); };
  std::vector<OpCase> cases = {
      Repeated("Pow", "", {3, 5, 7}, {3, 5, 7}, {3, 5, 7}, pow),
      Repeated("Pow", "OfRow", {4, 3}, {3}, {4, 3}, pow),
      Repeated("Pow", "OfBoth", {2, 1, 4}, {3, 1}, {2, 3, 4}, pow),
  };
  for (OpCase& op_case : cases) {
    op_case.inputs[0] = op_case.inputs[1];
    op_case.inputs[0].type =
        Float32(op_case.name == "Pow"        ? Shape{3, 5, 7}
                : op_case.name == "PowOfRow" ? Shape{4, 3}
                                             : Shape{2, 1, 4});
    op_case.tolerance = 1e-4;
  }
  return cases;
}

// Of small integers and the least and the largest ones.
CaseInput Integers(DType dtype, const Shape& shape, int64_t first) {
  const double half = dtype == DType::kInt32 ? 0x1p31 : 0x1p62;
  const double rare[] = {-half, half - 1, half / 2, -1};
  Doubles values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t k = (first + i * 7) % 23;
    values.push_back(k < 4 ? rare[k] : static_cast<double>(k - 13));
  }
  return {.type = {.dtype = dtype, .shape = shape},
          .fill = Fill::kValues,
          .values = values};
}

using IntegerFn = int64_t (*)(int64_t, int64_t);

int64_t WrappedPlus(int64_t a, int64_t b) {
  int64_t y = 0;
  (void)__builtin_add_overflow(a, b, &y);
  return y;
}
int64_t WrappedMinus(int64_t a, int64_t b) {
  int64_t y = 0;
  (void)__builtin_sub_overflow(a, b, &y);
  return y;
}
int64_t WrappedTimes(int64_t a, int64_t b) {
  int64_t y = 0;
  (void)__builtin_mul_overflow(a, b, &y);
  return y;
}
int64_t Truncated(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

OpCase OfIntegers(const std::string& op, DType dtype, const Shape& b,
                  IntegerFn f) {
  const Shape a = {3, 5, 7};
  const TensorType y = {.dtype = dtype, .shape = a};
  const bool is_short = dtype == DType::kInt32;
  return {.name = op + (is_short ? "OfInt32" : "OfInt64"),
          .op = op,
          .inputs = {Integers(dtype, a, 0), Integers(dtype, b, 5)},
          .outputs = {y},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(a, [&](const Index& i) {
                  const int64_t full =
                      f(static_cast<int64_t>(in[0][RepeatedAt(a, i)]),
                        static_cast<int64_t>(in[1][RepeatedAt(b, i)]));
                  return static_cast<double>(
                      is_short ? static_cast<int32_t>(full) : full);
                })};
              },
          .flops = 105};
}

std::vector<OpCase> IntegerCases() {
  const DType int32 = DType::kInt32;
  const DType int64 = DType::kInt64;
  return {
      OfIntegers("Add", int32, {3, 5, 7}, WrappedPlus),
      OfIntegers("Add", int64, {7}, WrappedPlus),
      OfIntegers("Sub", int32, {5, 1}, WrappedMinus),
      OfIntegers("Sub", int64, {}, WrappedMinus),
      OfIntegers("Mul", int32, {3, 1, 7}, WrappedTimes),
      OfIntegers("Mul", int64, {3, 5, 7}, WrappedTimes),
      OfIntegers("TruncateDiv", int32, {3, 5, 7}, Truncated),
      OfIntegers("TruncateDiv", int64, {3, 1, 7}, Truncated),
  };
}

OpCase AddNCase(const std::string& name, size_t n, const Shape& shape) {
  return {.name = name,
          .op = "AddN",
          .inputs = std::vector<CaseInput>(n, {.type = Float32(shape)}),
          .outputs = {Float32(shape)},
          .reference =
              [](const DoublesList& in) {
                Doubles sum(in[0].size(), 0);
                for (const Doubles& x : in) {
                  for (size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
                }
                return DoublesList{sum};
              },
          .gradients = {0, static_cast<int>(n) - 1},
          .flops = static_cast<double>(n - 1) *
                   static_cast<double>(shape.num_elements())};
}

OpCase BiasAddCase(const std::string& name, const Shape& x) {
  return {.name = name,
          .op = "BiasAdd",
          .inputs = {{.type = Float32(x)}, {.type = Float32({x.dim(-1)})}},
          .outputs = {Float32(x)},
          .reference = Repeating(Plus),
          .gradients = {0, 1}};
}

OpCase BiasAddReluCase() {
  OpCase op_case = BiasAddCase("BiasAddRelu", {7, 3});
  op_case.attributes = {{"activation", "relu"}};
  op_case.inputs[0].fill = Fill::kDistinct;
  op_case.inputs[0].low = -2;
  op_case.inputs[0].high = 2;
  op_case.reference =
      Repeating([](double a, double b) { return a + b > 0 ? a + b : 0; });
  return op_case;
}

OpCase BiasAddGradCase(const std::string& name, const Shape& dy) {
  const auto channels = static_cast<size_t>(dy.dim(-1));
  return {.name = name,
          .op = "BiasAddGrad",
          .inputs = {{.type = Float32(dy), .fill = Fill::kUniform}},
          .outputs = {Float32({dy.dim(-1)})},
          .reference = [channels](const DoublesList& in) {
            Doubles sum(channels, 0);
            for (size_t i = 0; i < in[0].size(); ++i) {
              sum[i % channels] += in[0][i];
            }
            return DoublesList{sum};
          }};
}

OpCase ScaleRowsCase() {
  return {.name = "ScaleRows",
          .op = "ScaleRows",
          .inputs = {{.type = Float32({4, 3, 5})}, {.type = Float32({4})}},
          .outputs = {Float32({4, 3, 5})},
          .reference =
              [](const DoublesList& in) {
                Doubles y = in[0];
                for (size_t i = 0; i < y.size(); ++i) y[i] *= in[1][i / 15];
                return DoublesList{y};
              },
          .gradients = {0, 1}};
}

// Parameters and losses stay float32.
std::vector<OpCase> MixedCases() {
  OpCase bias =
      InBFloat16(BiasAddCase("BiasAddFloat32", {2, 3, 4, 5}), {.inputs = {1}});
  OpCase bias_grad = InBFloat16(
      BiasAddGradCase("BiasAddGradFloat32", {7, 41, 43, 6}), {.outputs = {0}});
  bias_grad.attributes = {{"dtype", DType::kFloat32}};
  bias_grad.tolerance = 1e-5;
  OpCase scale = ScaleRowsCase();
  scale.name += "Float32";
  return {bias, bias_grad, InBFloat16(scale, {.inputs = {1}})};
}

std::vector<BadOp> BadAdds() {
  return {
      {.name = "AddOfTwoShapes",
       .op = "Add",
       .inputs = {Float32({2, 3}), Float32({2})},
       .error = "[2, 3] and [2] have no common shape"},
      {.name = "AddOfBools",
       .op = "Add",
       .inputs = {{.dtype = DType::kBool, .shape = {2}},
                  {.dtype = DType::kBool, .shape = {2}}},
       .error = "a must be float32"},
      {.name = "SubOfTwoIntegerTypes",
       .op = "Sub",
       .inputs = {Int32({2}), {.dtype = DType::kInt64, .shape = {2}}},
       .error = "b must be int32; it is int64[2]"},
      {.name = "TruncateDivOfReals",
       .op = "TruncateDiv",
       .inputs = {Float32({2}), Float32({2})},
       .error = "a must be int32 or int64; it is float32[2]"},
      {.name = "RealDivOfIntegers",
       .op = "RealDiv",
       .inputs = {Int32({2}), Int32({2})},
       .error = "a must be float32"},
      {.name = "MaximumOfIntegers",
       .op = "Maximum",
       .inputs = {Int32({2}), Int32({2})},
       .error = "a must be float32"},
      {.name = "MinimumOfTwoShapes",
       .op = "Minimum",
       .inputs = {Float32({2, 3}), Float32({2})},
       .error = "[2, 3] and [2] have no common shape"},
      {.name = "PowOfTwoDTypes",
       .op = "Pow",
       .inputs = {Float32({2}), Int32({2})},
       .error = "it is int32[2]"},
      {.name = "GreaterShareOfIntegers",
       .op = "GreaterShare",
       .inputs = {Int32({2}), Int32({2})},
       .error = "a must be float32"},
      {.name = "SubOfTwoShapes",
       .op = "Sub",
       .inputs = {Float32({2, 3, 4}), Float32({3, 3, 4})},
       .error = "[2, 3, 4] and [3, 3, 4] have no common shape"},
      {.name = "MulOfTwoDTypes",
       .op = "Mul",
       .inputs = {Float32({2}), Int32({2})},
       .error = "it is int32[2]"},
      {.name = "AddNOfNothing", .op = "AddN", .error = "1 input or more"},
      {.name = "AddNOfTwoShapes",
       .op = "AddN",
       .inputs = {Float32({2}), Float32({2}), Float32({3})},
       .error = "x3 must be float32[2], as x1; it is float32[3]"},
      {.name = "BiasAddToVector",
       .op = "BiasAdd",
       .inputs = {Float32({2}), Float32({2})},
       .error = "x must have 2 dimensions or more"},
      {.name = "BiasAddOfTooManyChannels",
       .op = "BiasAdd",
       .inputs = {Float32({2, 3}), Float32({4})},
       .error = "bias must be float32[3]"},
      {.name = "BiasAddOfUnknownActivation",
       .op = "BiasAdd",
       .inputs = {Float32({2, 3}), Float32({3})},
       .attributes = {{"activation", "tanh"}},
       .error = "'activation' must be 'none' or 'relu'; it is 'tanh'"},
      {.name = "BiasAddOfOtherShortBias",
       .op = "BiasAdd",
       .inputs = {BFloat16s({2, 3}), {.dtype = DType::kFloat16, .shape = {3}}},
       .error = "bias must be bfloat16[3] or float32[3], as the channels of x; "
                "it is float16[3]"},
      {.name = "BiasAddOfShortBiasToFloat32",
       .op = "BiasAdd",
       .inputs = {Float32({2, 3}), BFloat16s({3})},
       .error = "bias must be float32[3], as the channels of x; it is "
                "bfloat16[3]"},
      {.name = "BiasAddGradInIntegers",
       .op = "BiasAddGrad",
       .inputs = {BFloat16s({2, 3})},
       .attributes = {{"dtype", DType::kInt32}},
       .error = "dbias must be bfloat16[3] or float32[3], as the channels of "
                "dy; it is int32[3]"},
      {.name = "AddOfFloat32ToBFloat16",
       .op = "Add",
       .inputs = {BFloat16s({2}), Float32({2})},
       .error = "b must be bfloat16; it is float32[2]"},
      {.name = "BiasAddGradOfScalar",
       .op = "BiasAddGrad",
       .inputs = {Float32({})},
       .error = "dy must have 2 dimensions or more"},
      {.name = "ScaleRowsOfTooFewScales",
       .op = "ScaleRows",
       .inputs = {Float32({2, 3}), Float32({3})},
       .error = "scale must be float32[2], as the rows of x"},
  };
}

}  // namespace

OpCases AddCases() {
  std::vector<OpCase> good = {
      AddNCase("AddN", 3, {4, 6}),
      AddNCase("AddNOfOne", 1, {5}),
      AddNCase("AddNLarge", 2, {40001}),
      BiasAddCase("BiasAdd", {2, 3, 4, 5}),
      BiasAddCase("BiasAddMatrix", {17, 3}),
      BiasAddReluCase(),
      BiasAddGradCase("BiasAddGrad", {2, 3, 4, 5}),
      BiasAddGradCase("BiasAddGradManyRows", {7, 41, 43, 6}),
      BiasAddGradCase("BiasAddGradManyColumns", {37, 4099}),
      BiasAddGradCase("BiasAddGradOneChannel", {301, 1}),
      ScaleRowsCase(),
  };
  for (const auto& [op, f] : std::vector<std::pair<std::string, BinaryFn>>{
           {"Add", Plus}, {"Mul", Times}, {"Sub", Minus}}) {
    good.push_back(Binary(op, "", {3, 5, 7}, f));
    good.push_back(Binary(op, "OfScalar", {}, f));
    good.push_back(Binary(op, "OfChannels", {7}, f));
  }
  for (std::vector<OpCase>& cases : std::vector<std::vector<OpCase>>{
           RepeatedCases(), ChoosingCases(), PowCases()}) {
    for (OpCase& op_case : cases) good.push_back(std::move(op_case));
  }
  for (OpCase& narrow : AllInBFloat16(good)) good.push_back(std::move(narrow));
  for (OpCase& repeated : LargeRepeatedCases()) {
    good.push_back(std::move(repeated));
  }
  for (std::vector<OpCase>& cases :
       std::vector<std::vector<OpCase>>{MixedCases(), IntegerCases()}) {
    for (OpCase& op_case : cases) good.push_back(std::move(op_case));
  }
  return {.good = good, .bad = BadAdds()};
}

}  // namespace spillway::testing

// ClipByValue, NormFactor, SquareSum.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/ops/cases/all_cases.h"

namespace spillway::testing {
namespace {

OpCase SumOfSquares(const std::string& name, const Shape& shape,
                    double deviation = 1) {
  return {.name = name,
          .op = "SquareSum",
          .inputs = {{.type = Float32(shape), .high = deviation}},
          .outputs = {Float32({})},
          .reference =
              [](const DoublesList& in) {
                double sum = 0;
                for (const double x : in[0]) sum += x * x;
                return DoublesList{{sum}};
              },
          .tolerance = 1e-6,
          .flops = 2.0 * static_cast<double>(shape.num_elements())};
}

OpCase Factor(const std::string& name, double square_sum, double scale) {
  return {.name = name,
          .op = "NormFactor",
          .inputs = {{.type = Float32({}),
                      .fill = Fill::kValues,
                      .values = {square_sum}}},
          .attributes = {{"max_norm", 2.5}, {"scale", scale}},
          .outputs = {Float32({})},
          .reference = [=](const DoublesList& in) {
            const double norm = scale * std::sqrt(in[0][0]);
            return DoublesList{{norm <= 2.5 ? 1 : 2.5 / norm}};
          }};
}

OpCase Clip(const std::string& name, const Shape& shape) {
  return {.name = name,
          .op = "ClipByValue",
          .inputs = {{.type = Float32(shape)}},
          .attributes = {{"limit", 0.7}},
          .outputs = {Float32(shape)},
          .reference = [](const DoublesList& in) {
            Doubles y = in[0];
            for (double& x : y) x = std::clamp(x, -0.7, 0.7);
            return DoublesList{y};
          }};
}

}  // namespace

OpCases ClipCases() {
  OpCases cases;
  cases.good = {
      Clip("ClipByValue", {9, 2003}),
      Clip("ClipByValueOfOne", {1}),
      Factor("NormFactor", 100, 1),
      Factor("NormFactorOfASmallNorm", 4, 1),
      Factor("NormFactorOfZero", 0, 1),
      Factor("NormFactorScaled", 100, 0.2),
      SumOfSquares("SquareSum", {9, 2003}),
      // Several chunks, and squares beyond float32 but for the double.
      SumOfSquares("SquareSumOfALargeOne", {53, 20011}),
      SumOfSquares("SquareSumOfOne", {}),
      SumOfSquares("SquareSumOfSmallOnes", {301}, 1e-21),
  };
  cases.bad = {
      {.name = "SquareSumOfIntegers",
       .op = "SquareSum",
       .inputs = {Int32({4})},
       .error = "x must be float32; it is int32[4]"},
      {.name = "NormFactorWithoutNorm",
       .op = "NormFactor",
       .inputs = {Float32({})},
       .error = "attribute 'max_norm' must be a positive float32; it is 0"},
      {.name = "NormFactorOfAVector",
       .op = "NormFactor",
       .inputs = {Float32({2})},
       .attributes = {{"max_norm", 1}},
       .error = "square_sum must be float32[], as a number; it is float32[2]"},
      {.name = "ClipByValueWithNegativeLimit",
       .op = "ClipByValue",
       .inputs = {Float32({2})},
       .attributes = {{"limit", -1}},
       .error = "attribute 'limit' must be a positive float32; it is -1"},
  };
  return cases;
}

}  // namespace spillway::testing

// The functions of ops/pointwise/unary.h and their gradients, against formulas
// written in another way where there is one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

using Function = double (*)(double);

const Shape kUnaryShape = {3, 4, 5, 7};

struct UnaryCase {
  std::string op = {};
  Function f = nullptr;
  // Evenly spaced numbers, so that none is near a corner of f; nor are the
  // corners near a bfloat16.
  double low = -4.1;
  double high = 3.97;
  Attributes attributes = {};
  std::string suffix = {};
  bool has_gradient = true;
};

OpCase MakeCase(const UnaryCase& spec) {
  OpCase op_case = {.name = spec.op + spec.suffix,
                    .op = spec.op,
                    .inputs = {{.type = Float32(kUnaryShape),
                                .fill = Fill::kDistinct,
                                .low = spec.low,
                                .high = spec.high}},
                    .attributes = spec.attributes,
                    .outputs = {Float32(kUnaryShape)},
                    .reference = [f = spec.f](const DoublesList& in) {
                      Doubles y = in[0];
                      std::ranges::transform(y, y.begin(), f);
                      return DoublesList{y};
                    }};
  if (spec.has_gradient) op_case.gradients = {0};
  return op_case;
}

// dx = dy (f(x + h) - f(x - h)) / 2 h.
OpCase MakeGradCase(const UnaryCase& spec) {
  OpCase op_case = MakeCase(spec);
  op_case.name = spec.op + "Grad" + spec.suffix;
  op_case.op = spec.op + "Grad";
  op_case.inputs.insert(op_case.inputs.begin(),
                        CaseInput{.type = Float32(kUnaryShape)});
  op_case.gradients = {};
  op_case.tolerance = 2e-5;
  op_case.reference = [f = spec.f](const DoublesList& in) {
    constexpr double kStep = 1e-5;
    Doubles dx(in[0].size());
    for (size_t i = 0; i < dx.size(); ++i) {
      const double x = in[1][i];
      dx[i] = in[0][i] * (f(x + kStep) - f(x - kStep)) / (2 * kStep);
    }
    return DoublesList{dx};
  };
  return op_case;
}

double Logistic(double x) { return 0.5 * (1 + std::tanh(0.5 * x)); }
double LogOfOnePlusExp(double x) {
  return static_cast<double>(std::log1p(std::exp(static_cast<long double>(x))));
}

std::vector<UnaryCase> SmoothCases() {
  return {
      {.op = "Celu",
       .f =
           [](double x) {
             return std::max(x, 0.0) +
                    std::min(0.0, 1.5 * (std::exp(x / 1.5) - 1));
           },
       .attributes = {{"alpha", 1.5}}},
      {.op = "Cos", .f = [](double x) { return std::cos(x); }},
      {.op = "Erf", .f = [](double x) { return std::erf(x); }},
      {.op = "Exp", .f = [](double x) { return std::exp(x); }, .high = 2},
      {.op = "Gelu",
       .f = [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
      {.op = "Gelu",
       .f =
           [](double x) {
             const double inner = std::sqrt(8 / std::acos(-1.0)) *
                                  (x + 0.044715 * std::pow(x, 3));
             return x * Logistic(inner);
           },
       .attributes = {{"approximate", true}},
       .suffix = "ByTanh"},
      {.op = "Log", .f = [](double x) { return std::log(x); }, .low = 0.1},
      {.op = "Mish",
       .f = [](double x) { return x * std::tanh(LogOfOnePlusExp(x)); }},
      {.op = "Power",
       .f = [](double x) { return std::exp(2.5 * std::log(x)); },
       .low = 0.1,
       .high = 2,
       .attributes = {{"exponent", 2.5}}},
      {.op = "Reciprocal", .f = [](double x) { return 1 / x; }, .low = 0.5},
      {.op = "Silu", .f = [](double x) { return x * Logistic(x); }},
      {.op = "Sin", .f = [](double x) { return std::sin(x); }},
      {.op = "Softplus", .f = LogOfOnePlusExp},
      {.op = "Softplus",
       .f = LogOfOnePlusExp,
       .low = -200,
       .high = 200,
       .suffix = "OfLargeNumbers"},
      {.op = "Softsign", .f = [](double x) { return x / (1 + std::abs(x)); }},
      {.op = "Sqrt",
       .f = [](double x) { return std::pow(x, 0.5); },
       .low = 0.1},
  };
}

std::vector<UnaryCase> CorneredCases() {
  return {
      {.op = "Abs", .f = [](double x) { return std::max(x, -x); }},
      {.op = "Clip",
       .f = [](double x) { return std::clamp(x, -1.2537, 2.507); },
       .attributes = {{"min", -1.2537}, {"max", 2.507}}},
      {.op = "Clip",
       .f = [](double x) { return x; },
       .suffix = "WithoutBounds"},
      {.op = "HardSigmoid",
       .f = [](double x) { return std::clamp(0.21 * x + 0.52, 0.0, 1.0); },
       .attributes = {{"alpha", 0.21}, {"beta", 0.52}}},
      {.op = "HardSwish",
       .f = [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
       .low = -2.9,
       .high = 2.9},
      {.op = "LeakyRelu",
       .f = [](double x) { return std::max(x, 0.3 * x); },
       .attributes = {{"alpha", 0.3}}},
      {.op = "Selu",
       .f =
           [](double x) {
             return 1.0507009873554804934193349852946 *
                    (x > 0 ? x
                           : 1.6732632423543772848170429916717 *
                                 (std::exp(x) - 1));
           }},
      {.op = "Shrink",
       .f =
           [](double x) {
             return x < -1.1 ? x + 0.4 : x > 1.1 ? x - 0.4 : 0.0;
           },
       .attributes = {{"lambd", 1.1}, {"bias", 0.4}}},
      {.op = "ThresholdedRelu",
       .f = [](double x) { return x > 0.7 ? x : 0.0; },
       .attributes = {{"alpha", 0.7}}},
  };
}

// Its corners, -3 and 3, are bfloat16 numbers.
UnaryCase WideHardSwish() {
  return {.op = "HardSwish",
          .f = [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
          .suffix = "Wide"};
}

std::vector<UnaryCase> CasesWithoutGradient() {
  return {
      {.op = "Ceil", .f = [](double x) { return -std::floor(-x); }},
      {.op = "Floor", .f = [](double x) { return -std::ceil(-x); }},
      {.op = "Round", .f = [](double x) { return x - std::remainder(x, 1.0); }},
      {.op = "Sign", .f = [](double x) { return x / std::abs(x); }},
  };
}

std::vector<BadOp> BadUnary() {
  std::vector<BadOp> bad = {{.name = "PowerWithoutExponent",
                             .op = "Power",
                             .inputs = {Float32({2})},
                             .error = "exponent"},
                            {.name = "CeluOfNoWidth",
                             .op = "Celu",
                             .inputs = {Float32({2})},
                             .attributes = {{"alpha", 0}},
                             .error = "alpha must not be 0"}};
  for (const std::string op : {"Abs",         "Ceil",
                               "Celu",        "Clip",
                               "Cos",         "Erf",
                               "Exp",         "Floor",
                               "Gelu",        "Log",
                               "HardSigmoid", "HardSwish",
                               "Mish",        "Power",
                               "LeakyRelu",   "Reciprocal",
                               "Round",       "Selu",
                               "Sign",        "Shrink",
                               "Silu",        "Sin",
                               "Softplus",    "Softsign",
                               "Sqrt",        "ThresholdedRelu"}) {
    bad.push_back(
        {.name = op + "OfIntegers",
         .op = op,
         .inputs = {Int32({2})},
         .error = "x must be float32, bfloat16 or float16; it is int32[2]"});
    if (op == "Ceil" || op == "Floor" || op == "Round" || op == "Sign")
      continue;
    bad.push_back({.name = op + "GradOfTwoShapes",
                   .op = op + "Grad",
                   .inputs = {Float32({2}), Float32({3})},
                   .error = "x must be float32[2], as dy; it is float32[3]"});
  }
  return bad;
}

}  // namespace

OpCases UnaryCases() {
  OpCases cases = {.bad = BadUnary()};
  for (const auto& specs : {SmoothCases(), CorneredCases()}) {
    for (const UnaryCase& spec : specs) {
      cases.good.push_back(MakeCase(spec));
      cases.good.push_back(MakeGradCase(spec));
    }
  }
  for (UnaryCase spec : CasesWithoutGradient()) {
    spec.has_gradient = false;
    cases.good.push_back(MakeCase(spec));
  }
  for (OpCase& narrow : AllInBFloat16(cases.good)) {
    cases.good.push_back(std::move(narrow));
  }
  cases.good.push_back(MakeCase(WideHardSwish()));
  cases.good.push_back(MakeGradCase(WideHardSwish()));
  return cases;
}

}  // namespace spillway::testing

// Elu, Relu, Relu6, Sigmoid, Tanh and their gradients.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

const Shape kActivationShape = {3, 4, 5, 7};

// y = f(x) and dx = g(dy, y), element by element.
OpCase Unary(const std::string& op, double scale, double flops,
             double (*f)(double)) {
  return {
      .name = op,
      .op = op,
      .inputs = {{.type = Float32(kActivationShape), .high = scale}},
      .outputs = {Float32(kActivationShape)},
      .reference =
          [f](const DoublesList& in) {
            Doubles y = in[0];
            std::ranges::transform(y, y.begin(), f);
            return DoublesList{y};
          },
      .gradients = {0},
      .flops = flops * static_cast<double>(kActivationShape.num_elements())};
}

OpCase Grad(const std::string& op, CaseInput y, double (*g)(double, double)) {
  return {.name = op,
          .op = op,
          .inputs = {{.type = Float32(kActivationShape)}, std::move(y)},
          .outputs = {Float32(kActivationShape)},
          .reference = [g](const DoublesList& in) {
            Doubles dx(in[0].size());
            std::ranges::transform(in[0], in[1], dx.begin(), g);
            return DoublesList{dx};
          }};
}

// Large enough that every thread gets a part.
OpCase LargeRelu() {
  OpCase large = Unary("Relu", 1, 1, [](double x) { return std::max(x, 0.0); });
  large.name = "ReluLarge";
  large.inputs[0].type = Float32({70001});
  large.outputs[0] = Float32({70001});
  large.flops = 70001;
  large.gradients = {};
  return large;
}

std::vector<BadOp> BadActivations() {
  std::vector<BadOp> bad = {
      {.name = "ReluOfTwoInputs",
       .op = "Relu",
       .inputs = {Float32({2}), Float32({2})},
       .error = "Relu takes 1 input"},
      {.name = "ReluWithAttribute",
       .op = "Relu",
       .inputs = {Float32({2})},
       .attributes = {{"alpha", 1}},
       .error = "no attribute 'alpha'"},
  };
  for (const std::string op : {"Elu", "Relu", "Relu6", "Sigmoid", "Tanh"}) {
    bad.push_back(
        {.name = op + "OfIntegers",
         .op = op,
         .inputs = {Int32({2})},
         .error = "x must be float32, bfloat16 or float16; it is int32[2]"});
    bad.push_back({.name = op + "GradOfTwoShapes",
                   .op = op + "Grad",
                   .inputs = {Float32({2}), Float32({3})},
                   .error = "y must be float32[2], as dy; it is float32[3]"});
  }
  return bad;
}

std::vector<OpCase> GoodActivations() {
  const CaseInput y = {.type = Float32(kActivationShape), .high = 2};
  const CaseInput y6 = {.type = Float32(kActivationShape), .high = 6};
  const CaseInput y01 = {.type = Float32(kActivationShape),
                         .fill = Fill::kUniform};
  return {
      Unary("Elu", 2, 11, [](double x) { return x > 0 ? x : std::exp(x) - 1; }),
      Unary("Relu", 1, 1, [](double x) { return std::max(x, 0.0); }),
      LargeRelu(),
      Unary("Relu6", 6, 2, [](double x) { return std::clamp(x, 0.0, 6.0); }),
      Unary("Sigmoid", 4, 12, [](double x) { return 1 / (1 + std::exp(-x)); }),
      Unary("Tanh", 2, 12, [](double x) { return std::tanh(x); }),
      Grad("EluGrad", y,
           [](double dy, double y) { return y > 0 ? dy : dy * (1 + y); }),
      Grad("ReluGrad", y, [](double dy, double y) { return y > 0 ? dy : 0; }),
      Grad("Relu6Grad", y6,
           [](double dy, double y) { return y > 0 && y < 6 ? dy : 0; }),
      Grad("SigmoidGrad", y01,
           [](double dy, double y) { return dy * (y - y * y); }),
      Grad("TanhGrad", y01,
           [](double dy, double y) { return dy * (1 - y * y); }),
  };
}

}  // namespace

OpCases ActivationCases() {
  OpCases cases = {.good = GoodActivations(), .bad = BadActivations()};
  for (OpCase& narrow : AllInBFloat16(cases.good)) {
    cases.good.push_back(std::move(narrow));
  }
  return cases;
}

}  // namespace spillway::testing

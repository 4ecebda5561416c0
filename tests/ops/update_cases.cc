// ApplyAdam, ApplyGradientDescent, ApplyMomentum, ApplyRMSProp, AssignAdd.
#include <cmath>
#include <string>
#include <vector>

#include "tests/ops/all_cases.h"

namespace spillway::testing {
namespace {

const Shape kShape = {9, 2003};
const CaseInput kTensor = {.type = Float32(kShape)};
const CaseInput kPositive = {
    .type = Float32(kShape), .fill = Fill::kUniform, .low = 0.1, .high = 2};

CaseInput Rate(double rate) {
  return {.type = Float32({}), .fill = Fill::kValues, .values = {rate}};
}

// Every reference returns the output, which is the updated variable, and then
// all inputs that were overwritten, the variable first.
OpCase GradientDescent(const std::string& name, double decay) {
  return {.name = name,
          .op = "ApplyGradientDescent",
          .inputs = {kTensor, kTensor, Rate(0.1)},
          .attributes = {{"weight_decay", decay}},
          .outputs = {Float32(kShape)},
          .reference = [decay](const DoublesList& in) {
            Doubles w = in[0];
            for (size_t i = 0; i < w.size(); ++i) {
              w[i] -= in[2][0] * (in[1][i] + decay * w[i]);
            }
            return DoublesList{w, w};
          }};
}

OpCase Momentum(const std::string& name, bool nesterov, double decay) {
  return {.name = name,
          .op = "ApplyMomentum",
          .inputs = {kTensor, kTensor, kTensor, Rate(0.1)},
          .attributes = {{"momentum", 0.75},
                         {"use_nesterov", nesterov},
                         {"weight_decay", decay}},
          .outputs = {Float32(kShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles a = in[1];
            for (size_t i = 0; i < w.size(); ++i) {
              const double g = in[2][i] + decay * w[i];
              a[i] = 0.75 * a[i] + g;
              w[i] -= in[3][0] * (nesterov ? g + 0.75 * a[i] : a[i]);
            }
            return DoublesList{w, w, a};
          }};
}

// After `steps` earlier updates.
OpCase Adam(const std::string& name, int steps, double decay) {
  const double beta1 = 0.9;
  const double beta2 = 0.99;
  const CaseInput powers = {
      .type = Float32({2}),
      .fill = Fill::kValues,
      .values = {std::pow(beta1, steps), std::pow(beta2, steps)}};
  return {.name = name,
          .op = "ApplyAdam",
          .inputs = {kTensor, kTensor, kPositive, powers, kTensor, Rate(0.01)},
          .attributes = {{"beta1", beta1},
                         {"beta2", beta2},
                         {"epsilon", 1e-3},
                         {"weight_decay", decay}},
          .outputs = {Float32(kShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles m = in[1];
            Doubles v = in[2];
            const double power1 = std::pow(beta1, steps + 1);
            const double power2 = std::pow(beta2, steps + 1);
            for (size_t i = 0; i < w.size(); ++i) {
              const double g = in[4][i] + decay * w[i];
              m[i] = beta1 * m[i] + (1 - beta1) * g;
              v[i] = beta2 * v[i] + (1 - beta2) * g * g;
              const double rate =
                  in[5][0] * std::sqrt(1 - power2) / (1 - power1);
              w[i] -= rate * m[i] / (std::sqrt(v[i]) + 1e-3);
            }
            return DoublesList{w, w, m, v, {power1, power2}};
          }};
}

OpCase RmsProp(const std::string& name, double momentum, double decay) {
  return {.name = name,
          .op = "ApplyRMSProp",
          .inputs = {kTensor, kPositive, kTensor, kTensor, Rate(0.01)},
          .attributes = {{"decay", 0.8},
                         {"momentum", momentum},
                         {"epsilon", 1e-3},
                         {"weight_decay", decay}},
          .outputs = {Float32(kShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles s = in[1];
            Doubles a = in[2];
            for (size_t i = 0; i < w.size(); ++i) {
              const double g = in[3][i] + decay * w[i];
              s[i] = 0.8 * s[i] + 0.2 * g * g;
              a[i] = momentum * a[i] + in[4][0] * g / std::sqrt(s[i] + 1e-3);
              w[i] -= a[i];
            }
            return DoublesList{w, w, s, a};
          }};
}

OpCase AssignAddCase() {
  return {.name = "AssignAdd",
          .op = "AssignAdd",
          .inputs = {kTensor, kTensor},
          .outputs = {Float32(kShape)},
          .reference = [](const DoublesList& in) {
            Doubles w = in[0];
            for (size_t i = 0; i < w.size(); ++i) w[i] += in[1][i];
            return DoublesList{w, w};
          }};
}

std::vector<BadOp> BadCases() {
  const TensorType w = Float32({4});
  const TensorType rate = Float32({});
  return {
      {.name = "GradientDescentOfAnotherShape",
       .op = "ApplyGradientDescent",
       .inputs = {w, Float32({5}), rate},
       .error = "gradient must be float32[4], as variable; it is float32[5]"},
      {.name = "GradientDescentWithManyRates",
       .op = "ApplyGradientDescent",
       .inputs = {w, w, w},
       .error = "learning_rate must be float32[], as a number"},
      {.name = "GradientDescentOfIntegers",
       .op = "ApplyGradientDescent",
       .inputs = {Int32({4}), Int32({4}), rate},
       .error = "variable must be float32; it is int32[4]"},
      {.name = "MomentumWithTooLargeMomentum",
       .op = "ApplyMomentum",
       .inputs = {w, w, w, rate},
       .attributes = {{"momentum", 1.5}},
       .error = "'momentum' must be at least 0 and less than 1; it is 1.5"},
      {.name = "MomentumWithoutSlot",
       .op = "ApplyMomentum",
       .inputs = {w, w, rate},
       .error = "ApplyMomentum takes 4 inputs"},
      {.name = "AdamWithOnePower",
       .op = "ApplyAdam",
       .inputs = {w, w, w, Float32({1}), w, rate},
       .error = "beta_power must be float32[2], as the powers of beta1"},
      {.name = "AdamWithNegativeEpsilon",
       .op = "ApplyAdam",
       .inputs = {w, w, w, Float32({2}), w, rate},
       .attributes = {{"epsilon", -1}},
       .error = "attribute 'epsilon' must be at least 0"},
      {.name = "RmsPropOfAnotherSlot",
       .op = "ApplyRMSProp",
       .inputs = {w, Float32({3}), w, w, rate},
       .error = "mean_square must be float32[4], as variable"},
      {.name = "AssignAddOfAnotherShape",
       .op = "AssignAdd",
       .inputs = {w, Float32({2, 2})},
       .error = "x must be float32[4], as variable"},
  };
}

}  // namespace

OpCases UpdateCases() {
  return {
      .good =
          {
              Adam("ApplyAdam", 7, 0.01),
              Adam("ApplyAdamFirst", 0, 0),
              AssignAddCase(),
              GradientDescent("ApplyGradientDescent", 0),
              GradientDescent("ApplyGradientDescentWithDecay", 0.05),
              Momentum("ApplyMomentum", false, 0),
              Momentum("ApplyMomentumNesterov", true, 0.05),
              Momentum("ApplyMomentumWithDecay", false, 0.05),
              RmsProp("ApplyRMSProp", 0, 0),
              RmsProp("ApplyRMSPropWithMomentum", 0.5, 0.05),
          },
      .bad = BadCases(),
  };
}

}  // namespace spillway::testing

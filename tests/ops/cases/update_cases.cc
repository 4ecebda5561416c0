// AccumulateGradient, ApplyAdagrad, ApplyAdam, ApplyGradientDescent, ApplyLars,
// ApplyMomentum, ApplyRMSProp, ApplyVelocity, AssignAdd.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"

namespace spillway::testing {
namespace {

const Shape kUpdateShape = {9, 2003};
const CaseInput kTensor = {.type = Float32(kUpdateShape)};
const CaseInput kPositive = {.type = Float32(kUpdateShape),
                             .fill = Fill::kUniform,
                             .low = 0.1,
                             .high = 2};

CaseInput Rate(double rate) {
  return {.type = Float32({}), .fill = Fill::kValues, .values = {rate}};
}

// Several groups of `one`, whose tensors have the shapes `shapes` in turn. Its
// reference returns, group by group, the outputs and then the overwritten
// inputs.
OpCase Grouped(const std::string& name, const OpCase& one,
               const std::vector<Shape>& shapes) {
  OpCase grouped = one;
  grouped.name = name;
  grouped.inputs.clear();
  grouped.outputs.clear();
  const size_t each = one.inputs.size() - 1;
  for (const Shape& shape : shapes) {
    for (size_t i = 0; i < each; ++i) {
      grouped.inputs.push_back(one.inputs[i]);
      if (one.inputs[i].type.shape == kUpdateShape) {
        grouped.inputs.back().type.shape = shape;
      }
    }
    grouped.outputs.push_back(Float32(shape));
  }
  grouped.inputs.push_back(one.inputs.back());
  grouped.reference = [=](const DoublesList& in) {
    DoublesList outputs;
    DoublesList overwritten;
    for (size_t group = 0; group < shapes.size(); ++group) {
      const auto begin = in.begin() + static_cast<ptrdiff_t>(group * each);
      DoublesList inputs(begin, begin + static_cast<ptrdiff_t>(each));
      inputs.push_back(in.back());
      const DoublesList results = one.reference(inputs);
      outputs.push_back(results[0]);
      overwritten.insert(overwritten.end(), results.begin() + 1, results.end());
    }
    outputs.insert(outputs.end(), overwritten.begin(), overwritten.end());
    return outputs;
  };
  return grouped;
}

// Sizes with all kinds of remainders of vectors and blocks.
const std::vector<Shape> kUnevenShapes = {{1},    {9, 2003}, {3, 1},
                                          {1024}, {1025},    {4100}};

// More tensors than one launch accepts.
std::vector<Shape> ManyShapes() {
  std::vector<Shape> shapes;
  for (int64_t i = 1; i <= 130; ++i) shapes.push_back({i * 37 % 101 + 1});
  return shapes;
}

OpCase Scaled(const std::string& name, const OpCase& one, double scale) {
  OpCase scaled = one;
  scaled.name = name;
  scaled.attributes.Set("gradient_scale", scale);
  const size_t gradient = one.inputs.size() - 2;
  scaled.reference = [=](const DoublesList& in) {
    DoublesList inputs = in;
    for (double& x : inputs[gradient]) x *= scale;
    return one.reference(inputs);
  };
  return scaled;
}

// Every reference returns the output, which is the updated variable, and then
// all overwritten inputs, the variable first.
OpCase GradientDescent(const std::string& name, double decay) {
  return {.name = name,
          .op = "ApplyGradientDescent",
          .inputs = {kTensor, kTensor, Rate(0.1)},
          .attributes = {{"weight_decay", decay}},
          .outputs = {Float32(kUpdateShape)},
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
          .outputs = {Float32(kUpdateShape)},
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

OpCase Velocity(const std::string& name, bool nesterov, double decay) {
  return {.name = name,
          .op = "ApplyVelocity",
          .inputs = {kTensor, kTensor, kTensor, Rate(0.1)},
          .attributes = {{"momentum", 0.75},
                         {"use_nesterov", nesterov},
                         {"weight_decay", decay}},
          .outputs = {Float32(kUpdateShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles v = in[1];
            for (size_t i = 0; i < w.size(); ++i) {
              const double old = v[i];
              v[i] = 0.75 * old - in[3][0] * (in[2][i] + decay * w[i]);
              w[i] += nesterov ? -0.75 * old + 1.75 * v[i] : v[i];
            }
            return DoublesList{w, w, v};
          }};
}

double Norm(const Doubles& x) {
  double squares = 0;
  for (const double item : x) squares += item * item;
  return std::sqrt(squares);
}

constexpr double kEta = 0.3;
constexpr double kLarsEpsilon = 0.5;

double LarsRatio(const std::string& form, double w, double g, double decay) {
  if (form == "lbsgd") {
    const double ratio = std::sqrt(w * w / (g * g + decay * w * w + 1e-18));
    return std::min(std::max(ratio, 0.01), 100.0);
  }
  if (w == 0 || g == 0) return 1;
  return kEta * w / (g + decay * w + kLarsEpsilon);
}

OpCase Lars(const std::string& name, const std::string& form, double decay) {
  return {.name = name,
          .op = "ApplyLars",
          .inputs = {kTensor, kTensor, kTensor, Rate(0.1)},
          .attributes = {{"momentum", 0.75},
                         {"eta", kEta},
                         {"epsilon", kLarsEpsilon},
                         {"form", form},
                         {"weight_decay", decay}},
          .outputs = {Float32(kUpdateShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles v = in[1];
            const double ratio =
                LarsRatio(form, Norm(in[0]), Norm(in[2]), decay);
            for (size_t i = 0; i < w.size(); ++i) {
              const double g = in[2][i] + decay * w[i];
              v[i] = 0.75 * v[i] - in[3][0] * ratio * g;
              w[i] += v[i];
            }
            return DoublesList{w, w, v};
          }};
}

OpCase WithZeros(size_t input, OpCase one) {
  one.inputs[input].fill = Fill::kValues;
  one.inputs[input].values =
      Doubles(static_cast<size_t>(kUpdateShape.num_elements()), 0.0);
  return one;
}

// So large that its norms are sums of several parts.
OpCase Large(OpCase one) {
  const Shape shape = {53, 2003};
  for (CaseInput& input : one.inputs) {
    if (input.type.shape == kUpdateShape) input.type.shape = shape;
  }
  one.outputs = {Float32(shape)};
  return one;
}

OpCase Adagrad(const std::string& name, double decay) {
  return {.name = name,
          .op = "ApplyAdagrad",
          .inputs = {kTensor, kPositive, kTensor, Rate(0.1)},
          .attributes = {{"epsilon", 1e-3}, {"weight_decay", decay}},
          .outputs = {Float32(kUpdateShape)},
          .reference = [=](const DoublesList& in) {
            Doubles w = in[0];
            Doubles c = in[1];
            for (size_t i = 0; i < w.size(); ++i) {
              const double g = in[2][i] + decay * w[i];
              c[i] += g * g;
              w[i] -= in[3][0] * g / (std::sqrt(c[i]) + 1e-3);
            }
            return DoublesList{w, w, c};
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
          .outputs = {Float32(kUpdateShape)},
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

// `one` with a decay that is not a part of the gradient.
OpCase AdamW(const std::string& name, const OpCase& one, double decay) {
  OpCase decoupled = one;
  decoupled.name = name;
  decoupled.attributes.Set("decoupled_weight_decay", decay);
  decoupled.reference = [=](const DoublesList& in) {
    DoublesList results = one.reference(in);
    for (size_t i = 0; i < in[0].size(); ++i) {
      results[0][i] -= in[5][0] * decay * in[0][i];
    }
    results[1] = results[0];
    return results;
  };
  return decoupled;
}

OpCase RmsProp(const std::string& name, double momentum, double decay) {
  return {.name = name,
          .op = "ApplyRMSProp",
          .inputs = {kTensor, kPositive, kTensor, kTensor, Rate(0.01)},
          .attributes = {{"decay", 0.8},
                         {"momentum", momentum},
                         {"epsilon", 1e-3},
                         {"weight_decay", decay}},
          .outputs = {Float32(kUpdateShape)},
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

OpCase Accumulate(const std::string& name, double of_sum, double of_gradient) {
  return {.name = name,
          .op = "AccumulateGradient",
          .inputs = {kTensor,
                     kTensor,
                     {.type = Float32({2}),
                      .fill = Fill::kValues,
                      .values = {of_sum, of_gradient}}},
          .outputs = {Float32(kUpdateShape)},
          .reference = [](const DoublesList& in) {
            Doubles sum = in[0];
            for (size_t i = 0; i < sum.size(); ++i) {
              const double kept = in[2][0] == 0 ? 0 : in[2][0] * sum[i];
              sum[i] = kept + in[2][1] * in[1][i];
            }
            return DoublesList{sum, sum};
          }};
}

// A weight of 0 ignores the old sum, even NaN.
OpCase AccumulateOverNans() {
  OpCase over = Accumulate("AccumulateGradientOverNans", 0, 0.25);
  over.inputs[0].fill = Fill::kValues;
  over.inputs[0].values =
      Doubles(static_cast<size_t>(kUpdateShape.num_elements()),
              std::numeric_limits<double>::quiet_NaN());
  return over;
}

OpCase AssignAddCase() {
  return {.name = "AssignAdd",
          .op = "AssignAdd",
          .inputs = {kTensor, kTensor},
          .outputs = {Float32(kUpdateShape)},
          .reference = [](const DoublesList& in) {
            Doubles w = in[0];
            for (size_t i = 0; i < w.size(); ++i) w[i] += in[1][i];
            return DoublesList{w, w};
          }};
}

// Of the rules with a momentum and no other slot.
std::vector<BadOp> BadMomentums() {
  const TensorType w = Float32({4});
  const TensorType rate = Float32({});
  return {
      {.name = "MomentumWithTooLargeMomentum",
       .op = "ApplyMomentum",
       .inputs = {w, w, w, rate},
       .attributes = {{"momentum", 1.5}},
       .error = "'momentum' must be at least 0 and less than 1; it is 1.5"},
      {.name = "MomentumWithoutSlot",
       .op = "ApplyMomentum",
       .inputs = {w, w, rate},
       .error = "ApplyMomentum takes 4 inputs"},
      {.name = "MomentumWithHalfAGroup",
       .op = "ApplyMomentum",
       .inputs = {w, w, w, w, rate},
       .error = "ApplyMomentum takes 4 inputs, or 3 more for each further "
                "group (variable, accumulator, gradient, learning_rate); 5 "
                "given"},
      {.name = "MomentumWithABadGroup",
       .op = "ApplyMomentum",
       .inputs = {w, w, w, w, Float32({3}), w, rate},
       .error = "group 1: accumulator must be float32[4], as variable; it is "
                "float32[3]"},
      {.name = "VelocityWithoutSlot",
       .op = "ApplyVelocity",
       .inputs = {w, w, rate},
       .error = "ApplyVelocity takes 4 inputs"},
      {.name = "VelocityWithTooLargeMomentum",
       .op = "ApplyVelocity",
       .inputs = {w, w, w, rate},
       .attributes = {{"momentum", 1}},
       .error = "'momentum' must be at least 0 and less than 1; it is 1"},
      {.name = "LarsOfAnUnknownForm",
       .op = "ApplyLars",
       .inputs = {w, w, w, rate},
       .attributes = {{"form", "lamb"}},
       .error = "'form' must be 'corrected' or 'lbsgd'; it is 'lamb'"},
      {.name = "LarsWithNegativeEta",
       .op = "ApplyLars",
       .inputs = {w, w, w, rate},
       .attributes = {{"eta", -1}},
       .error = "attribute 'eta' must be at least 0"},
      {.name = "LarsWithNesterov",
       .op = "ApplyLars",
       .inputs = {w, w, w, rate},
       .attributes = {{"use_nesterov", true}},
       .error = "ApplyLars has no attribute 'use_nesterov'"},
  };
}

std::vector<BadOp> BadOthers() {
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
      {.name = "GradientDescentWithoutScale",
       .op = "ApplyGradientDescent",
       .inputs = {w, w, rate},
       .attributes = {{"gradient_scale", 0}},
       .error = "attribute 'gradient_scale' must be a positive float32; it is "
                "0"},
      {.name = "GradientDescentWithAScaleBeyondFloat32",
       .op = "ApplyGradientDescent",
       .inputs = {w, w, rate},
       .attributes = {{"gradient_scale", 1e300}},
       .error = "must be a positive float32; it is 1e+300"},
      {.name = "AdagradWithNegativeEpsilon",
       .op = "ApplyAdagrad",
       .inputs = {w, w, w, rate},
       .attributes = {{"epsilon", -1}},
       .error = "attribute 'epsilon' must be at least 0"},
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
      {.name = "AccumulateGradientWithOneWeight",
       .op = "AccumulateGradient",
       .inputs = {w, w, rate},
       .error =
           "weights must be float32[2], as a pair of numbers; it is float32[]"},
      {.name = "AssignAddOfAnotherShape",
       .op = "AssignAdd",
       .inputs = {w, Float32({2, 2})},
       .error = "x must be float32[4], as variable"},
  };
}

std::vector<OpCase> VelocityCases() {
  return {
      Velocity("ApplyVelocity", false, 0),
      Velocity("ApplyVelocityNesterov", true, 0.05),
      Grouped("ApplyVelocityOfMany", Velocity("", false, 0.05), ManyShapes()),
      Grouped("ApplyVelocityOfSeveral", Velocity("", true, 0.05),
              kUnevenShapes),
      Scaled("ApplyVelocityScaled", Velocity("", false, 0.05), 0.3),
      Velocity("ApplyVelocityWithDecay", false, 0.05),
  };
}

std::vector<OpCase> LarsCases() {
  return {
      Lars("ApplyLars", "corrected", 0.05),
      Lars("ApplyLarsLbsgd", "lbsgd", 0.05),
      Grouped("ApplyLarsLbsgdOfMany", Lars("", "lbsgd", 0.05), ManyShapes()),
      Large(Lars("ApplyLarsLbsgdOfALargeOne", "lbsgd", 0.05)),
      Scaled("ApplyLarsLbsgdScaled", Lars("", "lbsgd", 0.05), 0.3),
      WithZeros(2, Lars("ApplyLarsLbsgdZeroGradient", "lbsgd", 5e-5)),
      WithZeros(0, Lars("ApplyLarsLbsgdZeroVariable", "lbsgd", 0.05)),
      Large(Lars("ApplyLarsOfALargeOne", "corrected", 0.05)),
      Grouped("ApplyLarsOfMany", Lars("", "corrected", 0.05), ManyShapes()),
      Grouped("ApplyLarsOfSeveral", Lars("", "corrected", 0.05), kUnevenShapes),
      Scaled("ApplyLarsScaled", Lars("", "corrected", 0.05), 0.3),
      Lars("ApplyLarsWithoutDecay", "corrected", 0),
      WithZeros(2, Lars("ApplyLarsZeroGradient", "corrected", 0.05)),
      WithZeros(0, Lars("ApplyLarsZeroVariable", "corrected", 0.05)),
  };
}

std::vector<OpCase> OtherCases() {
  return {
      Accumulate("AccumulateGradient", 1, 0.25),
      Accumulate("AccumulateGradientFirst", 0, 0.3),
      Grouped("AccumulateGradientOfMany", Accumulate("", 1, 0.3), ManyShapes()),
      Grouped("AccumulateGradientOfSeveral", Accumulate("", 0, 0.3),
              kUnevenShapes),
      AccumulateOverNans(),
      Adagrad("ApplyAdagrad", 0),
      Grouped("ApplyAdagradOfMany", Adagrad("", 0.05), ManyShapes()),
      Grouped("ApplyAdagradOfSeveral", Adagrad("", 0.05), kUnevenShapes),
      Scaled("ApplyAdagradScaled", Adagrad("", 0.05), 0.3),
      Adagrad("ApplyAdagradWithDecay", 0.05),
      Adam("ApplyAdam", 7, 0.01),
      AdamW("ApplyAdamDecoupled", Adam("", 7, 0), 0.3),
      AdamW("ApplyAdamWithBothDecays", Adam("", 7, 0.01), 0.3),
      Adam("ApplyAdamFirst", 0, 0),
      Grouped("ApplyAdamOfMany", Adam("", 2, 0.01), ManyShapes()),
      Grouped("ApplyAdamOfSeveral", Adam("", 2, 0.01), kUnevenShapes),
      Scaled("ApplyAdamScaled", Adam("", 2, 0.01), 0.3),
      AssignAddCase(),
      GradientDescent("ApplyGradientDescent", 0),
      Grouped("ApplyGradientDescentOfMany", GradientDescent("", 0.05),
              ManyShapes()),
      Grouped("ApplyGradientDescentOfSeveral", GradientDescent("", 0.05),
              kUnevenShapes),
      Scaled("ApplyGradientDescentScaled", GradientDescent("", 0.05), 0.3),
      GradientDescent("ApplyGradientDescentWithDecay", 0.05),
      Momentum("ApplyMomentum", false, 0),
      Momentum("ApplyMomentumNesterov", true, 0.05),
      Grouped("ApplyMomentumOfMany", Momentum("", false, 0.05), ManyShapes()),
      Grouped("ApplyMomentumOfSeveral", Momentum("", true, 0.05),
              kUnevenShapes),
      Scaled("ApplyMomentumScaled", Momentum("", false, 0.05), 0.3),
      Momentum("ApplyMomentumWithDecay", false, 0.05),
      RmsProp("ApplyRMSProp", 0, 0),
      Grouped("ApplyRMSPropOfMany", RmsProp("", 0.5, 0.05), ManyShapes()),
      Grouped("ApplyRMSPropOfSeveral", RmsProp("", 0.5, 0.05), kUnevenShapes),
      Scaled("ApplyRMSPropScaled", RmsProp("", 0.5, 0.05), 0.3),
      RmsProp("ApplyRMSPropWithMomentum", 0.5, 0.05),
  };
}

template <typename T>
std::vector<T> Joined(std::initializer_list<std::vector<T>> lists) {
  std::vector<T> all;
  for (const std::vector<T>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace

OpCases UpdateCases() {
  return {.good = Joined({OtherCases(), VelocityCases(), LarsCases()}),
          .bad = Joined({BadOthers(), BadMomentums()})};
}

}  // namespace spillway::testing

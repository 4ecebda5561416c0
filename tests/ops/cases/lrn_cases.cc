// LRN, LRNGrad.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

struct Lrn {
  std::string name;
  Shape x;
  int64_t radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
};

Attributes AttributesOf(const Lrn& lrn) {
  return {{"depth_radius", lrn.radius},
          {"bias", lrn.bias},
          {"alpha", lrn.alpha},
          {"beta", lrn.beta}};
}

// Calls fn(c, j) for each channel c and each channel j in its window, as
// indices in x.
template <typename Fn>
void ForEachPair(const Lrn& lrn, Fn fn) {
  const int64_t channels = lrn.x.dim(-1);
  for (int64_t i = 0; i < lrn.x.num_elements(); ++i) {
    const int64_t row = i / channels * channels;
    for (int64_t j = row; j < row + channels; ++j) {
      if (std::abs(i - j) > lrn.radius) continue;
      fn(static_cast<size_t>(i), static_cast<size_t>(j));
    }
  }
}

Doubles Sums(const Lrn& lrn, const Doubles& x) {
  Doubles s(x.size(), lrn.bias);
  ForEachPair(lrn,
              [&](size_t c, size_t j) { s[c] += lrn.alpha * x[j] * x[j]; });
  return s;
}

OpCase Forward(const Lrn& lrn) {
  return {.name = "LRN" + lrn.name,
          .op = "LRN",
          .inputs = {{.type = Float32(lrn.x), .high = 2}},
          .attributes = AttributesOf(lrn),
          .outputs = {Float32(lrn.x)},
          .reference =
              [lrn](const DoublesList& in) {
                const Doubles s = Sums(lrn, in[0]);
                Doubles y(s.size());
                for (size_t i = 0; i < y.size(); ++i) {
                  y[i] = in[0][i] * std::pow(s[i], -lrn.beta);
                }
                return DoublesList{y};
              },
          .gradients = {0}};
}

// dx[j] sums dy[c] * d y[c] / d x[j] over the channels c whose window contains
// j.
OpCase Grad(const Lrn& lrn) {
  return {
      .name = "LRNGrad" + lrn.name,
      .op = "LRNGrad",
      .inputs = {{.type = Float32(lrn.x)}, {.type = Float32(lrn.x), .high = 2}},
      .attributes = AttributesOf(lrn),
      .outputs = {Float32(lrn.x)},
      .reference = [lrn](const DoublesList& in) {
        const Doubles& dy = in[0];
        const Doubles& x = in[1];
        const Doubles s = Sums(lrn, x);
        Doubles dx(x.size(), 0);
        ForEachPair(lrn, [&](size_t c, size_t j) {
          double slope = -2 * lrn.alpha * lrn.beta * x[c] * x[j] / s[c];
          if (c == j) slope += 1;
          dx[j] += dy[c] * slope * std::pow(s[c], -lrn.beta);
        });
        return DoublesList{dx};
      }};
}

std::vector<Lrn> Lrns() {
  return {
      {.name = "Defaults", .x = {2, 3, 2, 17}},
      {.name = "AlexNet",
       .x = {2, 3, 3, 24},
       .radius = 2,
       .bias = 1,
       .alpha = 1e-4,
       .beta = 0.75},
      {.name = "AnyBeta",
       .x = {3, 2, 2, 9},
       .radius = 1,
       .bias = 2,
       .alpha = 0.3,
       .beta = 0.6},
      {.name = "WiderThanTheRow", .x = {5, 3}, .radius = 7, .alpha = 0.5},
      {.name = "OneChannel", .x = {4, 2, 1}, .radius = 0, .beta = 0.75},
      {.name = "ManyRows",
       .x = {31, 29, 11},
       .radius = 3,
       .alpha = 0.2,
       .beta = 0.75},
  };
}

}  // namespace

OpCases LrnCases() {
  OpCases cases;
  for (const Lrn& lrn : Lrns()) {
    cases.good.push_back(Forward(lrn));
    cases.good.push_back(Grad(lrn));
  }
  for (const Lrn& lrn : Lrns()) {
    cases.good.push_back(InBFloat16(Forward(lrn)));
    cases.good.push_back(InBFloat16(Grad(lrn)));
  }
  // 2 for each of the 5 channels of a window, and 22.
  cases.good[2].flops = 2.0 * 3 * 3 * 24 * 32;
  cases.bad = {
      {.name = "LRNOfNegativeRadius",
       .op = "LRN",
       .inputs = {Float32({2, 8})},
       .attributes = {{"depth_radius", -1}},
       .error = "'depth_radius' must be between 0 and 1024; it is -1"},
      {.name = "LRNOfNegativeBias",
       .op = "LRN",
       .inputs = {Float32({2, 8})},
       .attributes = {{"bias", -1}},
       .error = "attribute 'bias' must be at least 0"},
      {.name = "LRNOfIntegers",
       .op = "LRN",
       .inputs = {Int32({2, 8})},
       .error = "x must be float32"},
      {.name = "LRNGradOfOtherDy",
       .op = "LRNGrad",
       .inputs = {Float32({2, 7}), Float32({2, 8})},
       .error = "dy must be float32[2, 8], as x"},
  };
  return cases;
}

}  // namespace spillway::testing

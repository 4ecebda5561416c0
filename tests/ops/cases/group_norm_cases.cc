// LayerNorm, GroupNorm and their gradients.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

// Which group each element belongs to, and which scale.
struct GroupNormCase {
  std::string name;
  std::string op;
  Shape x;
  Shape scale;
  Shape statistics;
  Attributes attributes = {};
  double epsilon = 1e-5;
  int64_t groups = 0;  // 0: LayerNorm

  size_t GroupOf(size_t i) const {
    if (groups == 0) return i / channels();
    const size_t width = channels() / static_cast<size_t>(groups);
    const size_t sample = i / static_cast<size_t>(x.num_elements() / x.dim(0));
    return sample * static_cast<size_t>(groups) + i % channels() / width;
  }
  size_t ChannelOf(size_t i) const { return i % channels(); }
  size_t channels() const { return static_cast<size_t>(scale.num_elements()); }
};

GroupNormCase Layer(const std::string& name, const Shape& x, const Shape& scale,
                    const Shape& statistics) {
  return {.name = "LayerNorm" + name,
          .op = "LayerNorm",
          .x = x,
          .scale = scale,
          .statistics = statistics};
}

GroupNormCase Group(const std::string& name, const Shape& x, int64_t groups) {
  return {.name = "GroupNorm" + name,
          .op = "GroupNorm",
          .x = x,
          .scale = {x.dim(-1)},
          .statistics = {x.dim(0), groups},
          .attributes = {{"groups", groups}, {"epsilon", 0.01}},
          .epsilon = 0.01,
          .groups = groups};
}

struct GroupStatistics {
  Doubles mean;
  Doubles inv_std;
};

// `values`, which has x's elements, averaged over each group.
Doubles MeanOfGroups(const GroupNormCase& norm, const Doubles& values) {
  const auto groups = static_cast<size_t>(norm.statistics.num_elements());
  Doubles mean(groups);
  const double share =
      static_cast<double>(groups) / static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    mean[norm.GroupOf(i)] += share * values[i];
  }
  return mean;
}

GroupStatistics GroupStatisticsOf(const GroupNormCase& norm, const Doubles& x) {
  GroupStatistics result;
  result.mean = MeanOfGroups(norm, x);
  Doubles squares(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    squares[i] = std::pow(x[i] - result.mean[norm.GroupOf(i)], 2);
  }
  for (const double variance : MeanOfGroups(norm, squares)) {
    result.inv_std.push_back(1 / std::sqrt(variance + norm.epsilon));
  }
  return result;
}

OpCase GroupNormForward(const GroupNormCase& norm) {
  return {.name = norm.name,
          .op = norm.op,
          .inputs = {{.type = Float32(norm.x), .high = 3},
                     {.type = Float32(norm.scale)},
                     {.type = Float32(norm.scale)}},
          .attributes = norm.attributes,
          .outputs = {Float32(norm.x), Float32(norm.statistics),
                      Float32(norm.statistics)},
          .reference =
              [norm](const DoublesList& in) {
                const GroupStatistics found = GroupStatisticsOf(norm, in[0]);
                Doubles y(in[0].size());
                for (size_t i = 0; i < y.size(); ++i) {
                  const size_t group = norm.GroupOf(i);
                  const size_t channel = norm.ChannelOf(i);
                  y[i] = (in[0][i] - found.mean[group]) * found.inv_std[group] *
                             in[1][channel] +
                         in[2][channel];
                }
                return DoublesList{y, found.mean, found.inv_std};
              },
          .tolerance = 2e-5,
          .gradients = {0, 1, 2}};
}

// dx = inv_std (g - mean of g - xhat mean of g xhat), with g = dy scale and
// xhat = (x - mean) inv_std: both means are over the element's group.
OpCase GroupNormGrad(const GroupNormCase& norm) {
  return {
      .name = norm.name + "Grad",
      .op = norm.op + "Grad",
      .inputs = {{.type = Float32(norm.x)},
                 {.type = Float32(norm.x), .high = 2},
                 {.type = Float32(norm.scale)},
                 {.type = Float32(norm.statistics)},
                 {.type = Float32(norm.statistics),
                  .fill = Fill::kUniform,
                  .low = 0.5,
                  .high = 1.5}},
      .attributes = norm.attributes,
      .outputs = {Float32(norm.x), Float32(norm.scale), Float32(norm.scale)},
      .reference =
          [norm](const DoublesList& in) {
            const Doubles& dy = in[0];
            const size_t n = dy.size();
            Doubles g(n);
            Doubles xhat(n);
            Doubles product(n);
            Doubles dscale(norm.channels());
            Doubles doffset(norm.channels());
            for (size_t i = 0; i < n; ++i) {
              const size_t group = norm.GroupOf(i);
              const size_t channel = norm.ChannelOf(i);
              g[i] = dy[i] * in[2][channel];
              xhat[i] = (in[1][i] - in[3][group]) * in[4][group];
              product[i] = g[i] * xhat[i];
              dscale[channel] += dy[i] * xhat[i];
              doffset[channel] += dy[i];
            }
            const Doubles mean = MeanOfGroups(norm, g);
            const Doubles slope = MeanOfGroups(norm, product);
            Doubles dx(n);
            for (size_t i = 0; i < n; ++i) {
              const size_t group = norm.GroupOf(i);
              dx[i] =
                  in[4][group] * (g[i] - mean[group] - xhat[i] * slope[group]);
            }
            return DoublesList{dx, dscale, doffset};
          },
      .tolerance = 3e-5};
}

std::vector<GroupNormCase> GroupNorms() {
  return {
      Layer("", {5, 24}, {24}, {5}),
      Layer("OfTwoDimensions", {3, 2, 4, 5}, {4, 5}, {3, 2}),
      Layer("OfAll", {7, 3}, {7, 3}, {}),
      Layer("Odd", {3, 67, 13}, {13}, {3, 67}),
      Layer("LongRows", {4, 1500}, {1500}, {4}),
      Group("", {3, 5, 4, 12}, 3),
      Group("One", {2, 3, 8}, 1),
      Group("EachChannel", {2, 19, 17, 5}, 5),
      Group("Wide", {2, 2, 2, 300}, 2),
      Group("ManyRows", {3, 23, 31, 8}, 2),
  };
}

}  // namespace

OpCases GroupNormCases() {
  OpCases cases;
  for (const GroupNormCase& norm : GroupNorms()) {
    cases.good.push_back(GroupNormForward(norm));
    cases.good.push_back(GroupNormGrad(norm));
    cases.good.push_back(InBFloat16(GroupNormForward(norm),
                                    {.inputs = {1, 2}, .outputs = {1, 2}}));
    cases.good.push_back(InBFloat16(GroupNormGrad(norm),
                                    {.inputs = {2, 3, 4}, .outputs = {1, 2}}));
  }
  cases.good[0].flops = 8.0 * 5 * 24;
  cases.good[1].flops = 12.0 * 5 * 24;
  cases.bad = {
      {.name = "LayerNormOfOtherScale",
       .op = "LayerNorm",
       .inputs = {Float32({2, 8}), Float32({2}), Float32({2})},
       .error = "scale must have the last dimensions of x"},
      {.name = "LayerNormOfScalarScale",
       .op = "LayerNorm",
       .inputs = {Float32({2, 8}), Float32({}), Float32({})},
       .error = "scale must have the last dimensions of x"},
      {.name = "LayerNormOfOtherOffset",
       .op = "LayerNorm",
       .inputs = {Float32({2, 8}), Float32({8}), Float32({2, 8})},
       .error = "offset must be float32[8], as scale"},
      {.name = "LayerNormOfIntegers",
       .op = "LayerNorm",
       .inputs = {Int32({2, 8}), Float32({8}), Float32({8})},
       .error = "x must be float32"},
      {.name = "LayerNormGradOfOtherStatistics",
       .op = "LayerNormGrad",
       .inputs = {Float32({2, 8}), Float32({2, 8}), Float32({8}), Float32({8}),
                  Float32({2})},
       .error = "saved_mean must be float32[2], as the groups of x"},
      {.name = "GroupNormOfUnevenGroups",
       .op = "GroupNorm",
       .inputs = {Float32({2, 8}), Float32({8}), Float32({8})},
       .attributes = {{"groups", 3}},
       .error = "'groups' must divide the 8 channels of x; it is 3"},
      {.name = "GroupNormOfNoGroups",
       .op = "GroupNorm",
       .inputs = {Float32({2, 8}), Float32({8}), Float32({8})},
       .attributes = {{"groups", 0}},
       .error = "'groups' must divide the 8 channels of x; it is 0"},
      {.name = "GroupNormOfBadEpsilon",
       .op = "GroupNorm",
       .inputs = {Float32({2, 8}), Float32({8}), Float32({8})},
       .attributes = {{"epsilon", -1}},
       .error = "'epsilon'"},
      {.name = "GroupNormGradOfOtherDy",
       .op = "GroupNormGrad",
       .inputs = {Float32({2, 7}), Float32({2, 8}), Float32({8}),
                  Float32({2, 1}), Float32({2, 1})},
       .error = "dy must be float32[2, 8], as x"},
  };
  return cases;
}

}  // namespace spillway::testing

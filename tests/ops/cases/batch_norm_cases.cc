// BatchNormApply, FusedBatchNorm, FusedBatchNormGrad.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

constexpr double kEpsilon = 0.01;
constexpr double kMomentum = 0.75;

// Norm::most: infinite for relu, 6 for relu6.
constexpr double kNoActivation = 0;
constexpr double kRelu = std::numeric_limits<double>::infinity();
constexpr double kRelu6 = 6;

struct Norm {
  std::string name;
  Shape x;
  bool is_training = true;
  double most = kNoActivation;  // of y after its activation
  bool has_side = false;
  bool mask = false;
  double mean = 0;   // of x
  double scale = 1;  // largest
};

const char* ActivationOf(const Norm& norm) {
  if (norm.most == kNoActivation) return "none";
  return norm.most == kRelu6 ? "relu6" : "relu";
}

double Activate(const Norm& norm, double y) {
  return norm.most == kNoActivation ? y : std::clamp(y, 0.0, norm.most);
}

Attributes AttributesOf(const Norm& norm) {
  return {{"epsilon", kEpsilon},
          {"momentum", kMomentum},
          {"is_training", norm.is_training},
          {"activation", ActivationOf(norm)},
          {"mask", norm.mask}};
}

TensorType MaskType(const Norm& norm) {
  std::vector<int64_t> dims(norm.x.dims().begin(), norm.x.dims().end());
  dims.back() /= 8;
  return {.dtype = DType::kUInt8, .shape = Shape(dims)};
}

bool Passes(const Norm& norm, double y) { return y > 0 && y < norm.most; }

Doubles MaskOf(const Norm& norm, const Doubles& y) {
  Doubles mask(y.size() / 8, 0);
  for (size_t i = 0; i < y.size(); ++i) {
    if (Passes(norm, y[i])) mask[i / 8] += 1 << i % 8;
  }
  return mask;
}

bool IsSet(const Doubles& mask, size_t i) {
  return (static_cast<int>(mask[i / 8]) >> i % 8 & 1) != 0;
}

size_t Channels(const Norm& norm) {
  return static_cast<size_t>(norm.x.dim(-1));
}

size_t RowsOf(const Doubles& x, size_t channels) { return x.size() / channels; }

// Statistics of one channel of x.
struct Statistics {
  double mean = 0;
  double variance = 0;
  double unbiased = 0;
};

Statistics StatisticsOf(const Doubles& x, size_t c, size_t channels) {
  Statistics s;
  const auto n = static_cast<double>(RowsOf(x, channels));
  for (size_t i = c; i < x.size(); i += channels) s.mean += x[i] / n;
  for (size_t i = c; i < x.size(); i += channels) {
    s.variance += (x[i] - s.mean) * (x[i] - s.mean) / n;
  }
  s.unbiased = n > 1 ? s.variance * n / (n - 1) : s.variance;
  return s;
}

// x, scale, offset, moving mean, moving variance[, side] -> y, saved mean,
// saved inv_std, and the two moving statistics.
DoublesList Normalize(const Norm& norm, const DoublesList& in) {
  const size_t channels = Channels(norm);
  DoublesList out = {in[0], Doubles(channels), Doubles(channels), in[3], in[4]};
  Doubles& moving_mean = out[3];
  Doubles& moving_variance = out[4];
  for (size_t c = 0; c < channels; ++c) {
    Statistics s = {.mean = in[3][c], .variance = in[4][c]};
    if (norm.is_training) {
      s = StatisticsOf(in[0], c, channels);
      moving_mean[c] = kMomentum * in[3][c] + (1 - kMomentum) * s.mean;
      moving_variance[c] = kMomentum * in[4][c] + (1 - kMomentum) * s.unbiased;
    }
    out[1][c] = s.mean;
    out[2][c] = 1 / std::sqrt(s.variance + kEpsilon);
    for (size_t i = c; i < in[0].size(); i += channels) {
      double y = (in[0][i] - s.mean) * out[2][c] * in[1][c] + in[2][c];
      if (norm.has_side) y += in[5][i];
      out[0][i] = Activate(norm, y);
    }
  }
  if (norm.mask) out.insert(out.begin() + 3, MaskOf(norm, out[0]));
  return out;
}

// A constant plus noise.
CaseInput Image(const Norm& norm) {
  return {.type = Float32(norm.x),
          .fill = Fill::kUniform,
          .low = norm.mean - 2,
          .high = norm.mean + 2};
}

OpCase Forward(const Norm& norm) {
  const TensorType vector = Float32({norm.x.dim(-1)});
  const auto elements = static_cast<double>(norm.x.num_elements());
  OpCase op_case = {
      .name = "FusedBatchNorm" + norm.name,
      .op = "FusedBatchNorm",
      .inputs = {Image(norm),
                 {.type = vector, .high = norm.scale},
                 {.type = vector},
                 {.type = vector},
                 {.type = vector, .fill = Fill::kUniform, .low = 0.5}},
      .attributes = AttributesOf(norm),
      .outputs = {Float32(norm.x), vector, vector},
      .reference =
          [norm](const DoublesList& in) { return Normalize(norm, in); },
      .tolerance = 2e-5 * std::max(1.0, std::abs(norm.mean)),
      .gradients = {0, 1, 2},
      .gradient_tolerance = 1e-3,
      .gradient_step = 1e-6,
      .flops = (norm.is_training ? 8 : 4) * elements};
  if (norm.has_side) {
    op_case.inputs.push_back({.type = Float32(norm.x)});
    op_case.gradients.push_back(5);
  }
  if (norm.mask) op_case.outputs.push_back(MaskType(norm));
  if (norm.x.num_elements() > 10000) op_case.gradients = {};
  return op_case;
}

// Inputs: x, scale, offset, mean, inv_std[, side].
OpCase Apply(const Norm& norm) {
  const TensorType vector = Float32({norm.x.dim(-1)});
  const auto elements = static_cast<double>(norm.x.num_elements());
  OpCase op_case = {
      .name = "BatchNormApply" + norm.name,
      .op = "BatchNormApply",
      .inputs = {Image(norm),
                 {.type = vector, .high = norm.scale},
                 {.type = vector},
                 {.type = vector},
                 {.type = vector, .fill = Fill::kUniform, .low = 0.5}},
      .attributes = {{"activation", ActivationOf(norm)}},
      .outputs = {Float32(norm.x)},
      .reference =
          [norm](const DoublesList& in) {
            const size_t channels = Channels(norm);
            Doubles y = in[0];
            for (size_t i = 0; i < y.size(); ++i) {
              const size_t c = i % channels;
              y[i] = (y[i] - in[3][c]) * in[4][c] * in[1][c] + in[2][c];
              if (norm.has_side) y[i] += in[5][i];
              y[i] = Activate(norm, y[i]);
            }
            return DoublesList{y};
          },
      .tolerance = 2e-5,
      .flops = 5 * elements};
  if (norm.has_side) op_case.inputs.push_back({.type = Float32(norm.x)});
  return op_case;
}

// The textbook formula: the chain rule through mean and variance. Inputs: dy,
// x, scale, offset, mean, inv_std[, y].
DoublesList Differentiate(const Norm& norm, const DoublesList& in) {
  const size_t channels = Channels(norm);
  Doubles g = in[0];
  DoublesList out = {in[0], Doubles(channels, 0), Doubles(channels, 0)};
  const auto n = static_cast<double>(RowsOf(g, channels));
  for (size_t c = 0; c < channels; ++c) {
    const double inv_std = in[5][c];
    double d_mean = 0;
    double d_variance = 0;
    for (size_t i = c; i < g.size(); i += channels) {
      const double centred = in[1][i] - in[4][c];
      if (norm.mask) {
        if (!IsSet(in[6], i)) g[i] = 0;
      } else if (norm.most != kNoActivation) {
        const double y =
            norm.has_side ? in[6][i] : centred * inv_std * in[2][c] + in[3][c];
        if (!Passes(norm, y)) g[i] = 0;
      }
      out[1][c] += g[i] * centred * inv_std;
      out[2][c] += g[i];
      d_mean -= g[i] * in[2][c] * inv_std;
      d_variance -= g[i] * in[2][c] * centred * std::pow(inv_std, 3) / 2;
    }
    for (size_t i = c; i < g.size(); i += channels) {
      out[0][i] = g[i] * in[2][c] * inv_std;
      if (!norm.is_training) continue;
      out[0][i] += d_mean / n + d_variance * 2 * (in[1][i] - in[4][c]) / n;
    }
  }
  if (norm.has_side) out.push_back(g);
  return out;
}

OpCase Grad(const Norm& norm) {
  const TensorType vector = Float32({norm.x.dim(-1)});
  OpCase op_case = {
      .name = "FusedBatchNormGrad" + norm.name,
      .op = "FusedBatchNormGrad",
      .inputs = {{.type = Float32(norm.x)},
                 {.type = Float32(norm.x)},
                 {.type = vector, .high = norm.scale},
                 {.type = vector},
                 {.type = vector, .high = 0.1},
                 {.type = vector, .fill = Fill::kUniform, .low = 0.5}},
      .attributes = AttributesOf(norm),
      .outputs = {Float32(norm.x), vector, vector},
      .reference =
          [norm](const DoublesList& in) { return Differentiate(norm, in); },
      .tolerance = 1e-4,
      .flops = 12 * static_cast<double>(norm.x.num_elements())};
  if (norm.has_side) {
    op_case.inputs.push_back(norm.mask ? CaseInput{.type = MaskType(norm),
                                                   .fill = Fill::kIntegers,
                                                   .low = 0,
                                                   .high = 256}
                                       : CaseInput{.type = Float32(norm.x)});
    op_case.outputs.push_back(Float32(norm.x));
  }
  return op_case;
}

std::vector<Norm> Norms() {
  return {
      {.name = "Training", .x = {3, 5, 7, 6}},
      {.name = "TrainingRelu", .x = {3, 5, 7, 6}, .most = kRelu},
      {.name = "TrainingSideRelu",
       .x = {3, 5, 7, 6},
       .most = kRelu,
       .has_side = true},
      {.name = "Inference", .x = {3, 5, 7, 6}, .is_training = false},
      {.name = "InferenceRelu",
       .x = {3, 5, 7, 6},
       .is_training = false,
       .most = kRelu},
      {.name = "InferenceSideRelu",
       .x = {2, 3, 4, 5},
       .is_training = false,
       .most = kRelu,
       .has_side = true},
      {.name = "Matrix", .x = {40, 9}},
      {.name = "OneRow", .x = {1, 8}},
      {.name = "Volume", .x = {2, 3, 4, 5, 3}, .most = kRelu},
      {.name = "ManyRows", .x = {5, 23, 29, 37}, .most = kRelu},
      {.name = "ManyRowsSideRelu",
       .x = {3, 20, 21, 12},
       .most = kRelu,
       .has_side = true},
      {.name = "ManyChannels", .x = {2, 4, 4, 1030}},
      {.name = "TrainingRelu6", .x = {3, 5, 7, 6}, .most = kRelu6, .scale = 8},
      // (Few elements: none may be so close to 6 that bfloat16 rounds it to 6.)
      {.name = "TrainingSideRelu6",
       .x = {2, 3, 5, 6},
       .most = kRelu6,
       .has_side = true,
       .scale = 8},
      {.name = "TrainingMask",
       .x = {3, 5, 7, 16},
       .most = kRelu,
       .has_side = true,
       .mask = true},
      {.name = "TrainingMaskRelu6",
       .x = {2, 3, 5, 8},
       .most = kRelu6,
       .has_side = true,
       .mask = true,
       .scale = 8},
      {.name = "ManyRowsMask",
       .x = {3, 20, 21, 24},
       .most = kRelu,
       .has_side = true,
       .mask = true},
      {.name = "ManyChannelsMask",
       .x = {2, 3, 3, 1032},
       .most = kRelu,
       .has_side = true,
       .mask = true},
      {.name = "InferenceMask",
       .x = {2, 3, 4, 8},
       .is_training = false,
       .most = kRelu,
       .has_side = true,
       .mask = true},
      {.name = "InferenceRelu6",
       .x = {3, 5, 7, 6},
       .is_training = false,
       .most = kRelu6,
       .scale = 8},
  };
}

std::vector<BadOp> BadNorms() {
  const TensorType x = Float32({2, 3, 3, 4});
  const TensorType v = Float32({4});
  const TensorType wide = Float32({2, 3, 3, 8});
  const TensorType w = Float32({8});
  return {
      {.name = "BatchNormApplyOfUnknownActivation",
       .op = "BatchNormApply",
       .inputs = {x, v, v, v, v},
       .attributes = {{"activation", "gelu"}},
       .error = "'activation' must be 'none', 'relu' or 'relu6'; it is 'gelu'"},
      {.name = "BatchNormApplyOfShortMean",
       .op = "BatchNormApply",
       .inputs = {x, v, v, Float32({3}), v},
       .error = "saved_mean must be float32[4], as the channels of x"},
      {.name = "BatchNormApplyOfOtherSide",
       .op = "BatchNormApply",
       .inputs = {x, v, v, v, v, Float32({2, 3, 3, 5})},
       .error = "side must be float32[2, 3, 3, 4], as x"},
      {.name = "FusedBatchNormOfUnknownActivation",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v},
       .attributes = {{"activation", "gelu"}},
       .error = "'activation' must be 'none', 'relu' or 'relu6'; it is 'gelu'"},
      {.name = "FusedBatchNormOfOtherChannels",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, Float32({3}), v},
       .error = "moving_mean must be float32[4], as the channels of x"},
      {.name = "FusedBatchNormOfShortScale",
       .op = "FusedBatchNorm",
       .inputs = {BFloat16s({2, 4}), BFloat16s({4}), v, v, v},
       .error = "scale must be float32[4], as the channels of x"},
      {.name = "FusedBatchNormOfOtherSide",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v, Float32({2, 3, 3, 5})},
       .error = "side must be float32[2, 3, 3, 4], as x"},
      {.name = "FusedBatchNormOfNoEpsilon",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v},
       .attributes = {{"epsilon", 0}},
       .error = "attribute 'epsilon' must be at least"},
      {.name = "FusedBatchNormOfLargeMomentum",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v},
       .attributes = {{"momentum", 1.5}},
       .error = "attribute 'momentum' must be at least 0"},
      {.name = "FusedBatchNormOfVector",
       .op = "FusedBatchNorm",
       .inputs = {v, v, v, v, v},
       .error = "x must have 2 dimensions or more"},
      {.name = "FusedBatchNormOfMaskWithoutSide",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v},
       .attributes = {{"activation", "relu"}, {"mask", true}},
       .error = "a mask requires a side and an activation"},
      {.name = "FusedBatchNormOfMaskOfFewChannels",
       .op = "FusedBatchNorm",
       .inputs = {x, v, v, v, v, x},
       .attributes = {{"activation", "relu"}, {"mask", true}},
       .error = "a mask requires a multiple of 8 channels; x has 4"},
      {.name = "FusedBatchNormGradOfNoMask",
       .op = "FusedBatchNormGrad",
       .inputs = {x, x, v, v, v, v},
       .attributes = {{"activation", "relu"}, {"mask", true}},
       .error = "a mask requires a side and an activation"},
      {.name = "FusedBatchNormGradOfYAsMask",
       .op = "FusedBatchNormGrad",
       .inputs = {wide, wide, w, w, w, w, wide},
       .attributes = {{"activation", "relu"}, {"mask", true}},
       .error = "mask must be uint8[2, 3, 3, 1], as a bit for each of x"},
      {.name = "FusedBatchNormGradOfUnreadY",
       .op = "FusedBatchNormGrad",
       .inputs = {x, x, v, v, v, v, x},
       .error = "y is read only with an activation"},
      {.name = "FusedBatchNormGradOfOtherDy",
       .op = "FusedBatchNormGrad",
       .inputs = {Float32({2, 3, 4, 4}), x, v, v, v, v},
       .error = "dy must be float32[2, 3, 3, 4], as x"},
  };
}

}  // namespace

OpCases BatchNormCases() {
  OpCases cases;
  for (const Norm& norm : Norms()) {
    cases.good.push_back(Forward(norm));
    cases.good.push_back(
        InBFloat16(Forward(norm), {.inputs = {1, 2, 3, 4}, .outputs = {1, 2}}));
    if (norm.is_training) {
      cases.good.push_back(Apply(norm));
      cases.good.push_back(InBFloat16(Apply(norm), {.inputs = {1, 2, 3, 4}}));
    }
    cases.good.push_back(Grad(norm));
    cases.good.push_back(
        InBFloat16(Grad(norm), {.inputs = {2, 3, 4, 5}, .outputs = {1, 2}}));
  }
  // With a side but no activation the gradient of side is dy, so the gradient
  // op does not compute it.
  cases.good.push_back(
      Forward({.name = "TrainingSide", .x = {3, 5, 7, 6}, .has_side = true}));
  // The mean is a thousand times the spread.
  Norm far = {.name = "FarFromZero", .x = {4, 16, 16, 3}, .mean = 1000};
  cases.good.push_back(Forward(far));
  cases.good.back().gradients = {};
  cases.bad = BadNorms();
  return cases;
}

}  // namespace spillway::testing

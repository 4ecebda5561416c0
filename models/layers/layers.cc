#include "models/layers/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status_macros.h"
#include "models/layers/layer_parts.h"

namespace spillway {
namespace {

using layer::HasRank;
using layer::IsPositive;

AttributeValue Pair(const std::array<int64_t, 2>& values) {
  return std::vector<int64_t>{values[0], values[1]};
}

// [before, after]: kernel - 1 rows in total, for a kernel spread by `dilation`.
AttributeValue ResnetPadding(int64_t kernel, int64_t dilation) {
  const int64_t total = (kernel - 1) * dilation;
  return Pair({total / 2, total - total / 2});
}

Attributes ConvAttributes(const Conv2DOptions& options) {
  Attributes attributes = {{"strides", Pair(options.strides)},
                           {"padding", options.padding},
                           {"dilations", Pair(options.dilations)},
                           {"groups", options.groups}};
  if (options.padding == "SAME_RESNET") {
    attributes.Set("padding", "EXPLICIT");
    attributes.Set("explicit_paddings",
                   AttributeValue::List{
                       ResnetPadding(options.kernel[0], options.dilations[0]),
                       ResnetPadding(options.kernel[1], options.dilations[1])});
  }
  return attributes;
}

// [0, after]: how far the last window that begins inside extends past the edge.
AttributeValue CeilPadding(int64_t size, int64_t window, int64_t stride) {
  const int64_t steps =
      std::max<int64_t>(0, (size - window + stride - 1) / stride);
  return Pair({0, std::max<int64_t>(0, steps * stride + window - size)});
}

// Whether a pool can be built: its padding can be computed.
bool CanPool(const NameScope& scope, Tensor x, const PoolOptions& options) {
  return HasRank(scope, x, 4) &&
         IsPositive(scope, std::ranges::min(options.window), "window") &&
         IsPositive(scope, std::ranges::min(options.strides), "stride");
}

// The attributes that both kinds of pool have.
Attributes PoolAttributes(Tensor x, const PoolOptions& options) {
  Attributes attributes = {{"ksize", Pair(options.window)},
                           {"strides", Pair(options.strides)},
                           {"padding", options.padding}};
  if (options.padding == "CEIL") {
    attributes.Set("padding", "EXPLICIT");
    attributes.Set(
        "explicit_paddings",
        AttributeValue::List{CeilPadding(x.shape().dim(1), options.window[0],
                                         options.strides[0]),
                             CeilPadding(x.shape().dim(2), options.window[1],
                                         options.strides[1])});
  }
  return attributes;
}

const char* OpOf(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "Identity";
    case Activation::kRelu:
      return "Relu";
    case Activation::kRelu6:
      return "Relu6";
    case Activation::kElu:
      return "Elu";
    case Activation::kSigmoid:
      return "Sigmoid";
    case Activation::kTanh:
      return "Tanh";
  }
  return "Identity";
}

Tensor MeanOf(const NameScope& scope, Tensor x, std::vector<int64_t> axes) {
  return scope.builder().Add(
      scope, {.op = "Mean", .inputs = {x}, .attributes = {{"axes", axes}}});
}

// The variables of a batch norm over `channels`, in the op's order.
std::vector<Tensor> BatchNormVariables(const NameScope& scope, int64_t channels,
                                       bool scale) {
  const Initializer zero = Initializer::Constant(0);
  const Initializer one = Initializer::Constant(1);
  const auto variable = [&](const char* name, const Initializer& initializer,
                            bool trainable) {
    return AddVariable(scope, {.name = name,
                               .shape = {channels},
                               .initializer = initializer,
                               .trainable = trainable});
  };
  // One after the other: the order of creation is the order of their updates.
  const Tensor gamma = variable("scale", one, scale);
  const Tensor beta = variable("offset", zero, true);
  const Tensor mean = variable("moving_mean", zero, false);
  const Tensor variance = variable("moving_variance", one, false);
  return {gamma, beta, mean, variance};
}

}  // namespace

Tensor Conv2D(const NameScope& scope, Tensor x, const Conv2DOptions& options) {
  if (!HasRank(scope, x, 4) || !IsPositive(scope, options.filters, "filters") ||
      !IsPositive(scope, options.groups, "groups")) {
    return Tensor();
  }
  const Tensor weights = AddVariable(
      scope, {.name = "weights",
              .shape = {options.filters, options.kernel[0], options.kernel[1],
                        x.shape().dim(3) / options.groups},
              .initializer = options.initializer});
  const Tensor y =
      scope.builder().Add(scope, {.op = "Conv2D",
                                  .inputs = {x, weights},
                                  .attributes = ConvAttributes(options)});
  return layer::Finish(scope, y, options);
}

Tensor Dense(const NameScope& scope, Tensor x, const DenseOptions& options) {
  if (!HasRank(scope, x, 2) || !IsPositive(scope, options.units, "units")) {
    return Tensor();
  }
  const int64_t fan_in = x.shape().dim(1);
  const double gain = options.activation == Activation::kRelu ? 2 : 1;
  const double stddev = std::sqrt(gain / static_cast<double>(fan_in));
  const Tensor weights =
      AddVariable(scope, {.name = "weights",
                          .shape = {fan_in, options.units},
                          .initializer = options.initializer.value_or(
                              Initializer::TruncatedNormal(stddev))});
  const Tensor y =
      scope.builder().Add(scope, {.op = "MatMul", .inputs = {x, weights}});
  return layer::Finish(scope, y, options);
}

Tensor MaxPool(const NameScope& scope, Tensor x, const PoolOptions& options) {
  if (!CanPool(scope, x, options)) return Tensor();
  return scope.builder().Add(scope, {.op = "MaxPool",
                                     .inputs = {x},
                                     .attributes = PoolAttributes(x, options)});
}

Tensor AvgPool(const NameScope& scope, Tensor x, const PoolOptions& options) {
  if (!CanPool(scope, x, options)) return Tensor();
  Attributes attributes = PoolAttributes(x, options);
  if (options.count_include_pad) attributes.Set("count_include_pad", true);
  return scope.builder().Add(
      scope,
      {.op = "AvgPool", .inputs = {x}, .attributes = std::move(attributes)});
}

Tensor MaxPoolRelu(const NameScope& scope, Tensor x,
                   const PoolOptions& options) {
  return Relu(scope, MaxPool(scope, x, options));
}

Tensor GlobalAveragePool(const NameScope& scope, Tensor x) {
  const bool is_volume = x.is_valid() && x.shape().rank() == 5;
  if (is_volume) return MeanOf(scope, x, {1, 2, 3});
  if (!HasRank(scope, x, 4)) return Tensor();
  return MeanOf(scope, x, {1, 2});
}

Tensor Flatten(const NameScope& scope, Tensor x) {
  if (!x.is_valid() || x.shape().rank() == 0) {
    scope.builder().Fail(
        InvalidArgument(fmt::format("{}: nothing to flatten", scope.name())));
    return Tensor();
  }
  const int64_t batch = x.shape().dim(0);
  return Reshape(scope, x, {batch, x.shape().num_elements() / batch});
}

Tensor Dropout(const NameScope& scope, Tensor x,
               const DropoutOptions& options) {
  if (!options.is_training) return x;
  std::string seed_name(scope.name());
  const std::string first = scope.prefix() + "Dropout";
  const Graph& graph = scope.builder().graph();
  if (graph.FindNode(first)) seed_name = graph.UniqueName(first);
  // 53 bits: exact in any JSON reader.
  const auto seed = static_cast<int64_t>(HashName(seed_name) >> 11);
  return scope.builder().Add(
      scope, {.op = "Dropout",
              .inputs = {x},
              .attributes = {{"rate", options.rate}, {"seed", seed}}});
}

Tensor BatchNorm(const NameScope& scope, Tensor x,
                 const BatchNormOptions& options) {
  if (!x.is_valid() || x.shape().rank() == 0) {
    scope.builder().Fail(
        InvalidArgument(fmt::format("{}: nothing to normalise", scope.name())));
    return Tensor();
  }
  std::vector<Tensor> inputs =
      BatchNormVariables(scope, x.shape().dim(-1), options.scale);
  inputs.insert(inputs.begin(), x);
  if (options.side.is_valid()) inputs.push_back(options.side);
  const bool is_fused = options.activation == Activation::kRelu;
  const Tensor y = scope.builder().Add(
      scope, {.op = "FusedBatchNorm",
              .inputs = std::move(inputs),
              .attributes = {{"epsilon", options.epsilon},
                             {"momentum", options.momentum},
                             {"is_training", options.is_training},
                             {"activation", is_fused ? "relu" : "none"}}});
  return is_fused ? y : Activate(scope, y, options.activation);
}

Tensor Lrn(const NameScope& scope, Tensor x, const LrnOptions& options) {
  return scope.builder().Add(
      scope, {.op = "LRN",
              .inputs = {x},
              .attributes = {{"depth_radius", options.depth_radius},
                             {"bias", options.bias},
                             {"alpha", options.alpha},
                             {"beta", options.beta}}});
}

Tensor Relu(const NameScope& scope, Tensor x) {
  return Activate(scope, x, Activation::kRelu);
}

Tensor Activate(const NameScope& scope, Tensor x, Activation activation) {
  if (activation == Activation::kNone) return x;
  return scope.builder().Add(scope, {.op = OpOf(activation), .inputs = {x}});
}

Tensor Add(const NameScope& scope, Tensor a, Tensor b) {
  return scope.builder().Add(scope, {.op = "Add", .inputs = {a, b}});
}

Tensor Constant(const NameScope& scope, DType dtype, double value) {
  return scope.builder().Add(
      scope,
      {.op = "Const",
       .attributes = {{"dtype", dtype}, {"shape", Shape()}, {"value", value}}});
}

Tensor Scale(const NameScope& scope, Tensor x, double factor) {
  const Tensor constant = Constant(scope, x.dtype(), factor);
  return scope.builder().Add(scope, {.op = "Mul", .inputs = {x, constant}});
}

Tensor Concat(const NameScope& scope, std::vector<Tensor> xs, int64_t axis) {
  return scope.builder().Add(scope, {.op = "Concat",
                                     .inputs = std::move(xs),
                                     .attributes = {{"axis", axis}}});
}

Tensor ConcatChannels(const NameScope& scope, std::vector<Tensor> xs) {
  return Concat(scope, std::move(xs), -1);
}

Tensor Reshape(const NameScope& scope, Tensor x, const Shape& shape) {
  return scope.builder().Add(
      scope,
      {.op = "Reshape", .inputs = {x}, .attributes = {{"shape", shape}}});
}

Tensor CastTo(const NameScope& scope, Tensor x, DType dtype) {
  if (!x.is_valid() || x.dtype() == dtype) return x;
  return scope.builder().Add(
      scope, {.op = "Cast", .inputs = {x}, .attributes = {{"dtype", dtype}}});
}

Tensor FlattenAll(const NameScope& scope, Tensor x) {
  return Reshape(scope, x, {x.shape().num_elements()});
}

Tensor MeanSquaredDistance(const NameScope& scope, Tensor a, Tensor b) {
  const Tensor distance =
      scope.builder().Add(scope, {.op = "Sub", .inputs = {a, b}});
  const Tensor squared =
      scope.builder().Add(scope, {.op = "Mul", .inputs = {distance, distance}});
  return MeanOf(scope, FlattenAll(scope, squared), {0});
}

Tensor Softmax(const NameScope& scope, Tensor x) {
  return scope.builder().Add(scope, {.op = "Softmax", .inputs = {x}});
}

Tensor SparseSoftmaxCrossEntropy(const NameScope& scope, Tensor logits,
                                 Tensor labels) {
  const Tensor losses =
      scope.builder().Add(scope, {.op = "SparseSoftmaxCrossEntropyWithLogits",
                                  .inputs = {logits, labels}});
  return MeanOf(scope, losses, {0});
}

Tensor InTopK(const NameScope& scope, Tensor logits, Tensor labels, int64_t k) {
  return scope.builder().Add(
      scope,
      {.op = "InTopK", .inputs = {logits, labels}, .attributes = {{"k", k}}});
}

Tensor TrueFraction(const NameScope& scope, Tensor flags) {
  const Tensor ones_and_zeros =
      scope.builder().Add(scope, {.op = "Cast",
                                  .inputs = {flags},
                                  .attributes = {{"dtype", DType::kFloat32}}});
  return MeanOf(scope, ones_and_zeros, {0});
}

Tensor Accuracy(const NameScope& scope, Tensor logits, Tensor labels,
                int64_t k) {
  return TrueFraction(scope, InTopK(scope, logits, labels, k));
}

}  // namespace spillway

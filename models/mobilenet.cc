// MobileNetV2 of width 1: inverted residuals, which widen a map, filter each
// channel separately, and project the map onto few channels without
// activation.
//
// `mobilenet` is the network that tf_cnn_benchmarks trains under this name: the
// 1001 logits of the network's own classifier pass through the classifier that
// tf_cnn_benchmarks adds to every network.
//
// Source: Sandler et al., "MobileNetV2: inverted residuals and linear
// bottlenecks", CVPR 2018, table 2.
#include <fmt/format.h>

#include <array>

#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

// A row of the table.
struct Stage {
  int64_t expansion = 0;
  int64_t filters = 0;
  int repeats = 0;
  int64_t stride = 1;  // of the first block
};

constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                           {6, 24, 2, 2},
                                           {6, 32, 3, 2},
                                           {6, 64, 4, 2},
                                           {6, 96, 3, 1},
                                           {6, 160, 3, 2},
                                           {6, 320, 1, 1}}};

BatchNormOptions MobileNetNorm(bool is_training, Activation activation) {
  return {.epsilon = 1e-3,
          .momentum = 0.997,
          .is_training = is_training,
          .activation = activation};
}

Tensor MobileNetBlock(const NameScope& scope, Tensor x, const Stage& stage,
                      int64_t stride, bool is_training) {
  const BatchNormOptions relu6 = MobileNetNorm(is_training, Activation::kRelu6);
  BatchNormOptions linear = MobileNetNorm(is_training, Activation::kNone);
  const int64_t in = x.shape().dim(-1);
  if (stride == 1 && in == stage.filters) linear.side = x;

  Tensor y = x;
  if (stage.expansion != 1) {
    y = ConvNorm(scope.Scope("expand"), y, {.filters = in * stage.expansion},
                 relu6);
  }
  y = DepthwiseConv2D(
      scope.Scope("depthwise"), y,
      {.kernel = {3, 3}, .strides = {stride, stride}, .use_bias = false});
  y = BatchNorm(scope.Scope("depthwise"), y, relu6);
  return ConvNorm(scope.Scope("project"), y, {.filters = stage.filters},
                  linear);
}

Tensor MobileNetFeatures(GraphBuilder& g, Tensor x, bool is_training) {
  const BatchNormOptions relu6 = MobileNetNorm(is_training, Activation::kRelu6);
  x = ConvNorm(g.Scope("conv1"), x,
               {.filters = 32, .kernel = {3, 3}, .strides = {2, 2}}, relu6);
  for (size_t i = 0; i < kStages.size(); ++i) {
    const NameScope scope = g.Scope(fmt::format("stage{}", i + 1));
    for (int block = 0; block < kStages[i].repeats; ++block) {
      if (!x.is_valid()) return x;
      x = MobileNetBlock(scope.Scope(fmt::format("block{}", block + 1)), x,
                         kStages[i], block == 0 ? kStages[i].stride : 1,
                         is_training);
    }
  }
  return ConvNorm(g.Scope("conv2"), x, {.filters = 1280}, relu6);
}

// `classes`: the number of classes of the network's own classifier.
Network BuildMobileNet(GraphBuilder& g, Tensor images, bool is_training,
                       int64_t classes) {
  Network network;
  network.features = MobileNetFeatures(g, images, is_training);
  Tensor x = GlobalAveragePool(g.Scope("pool"), network.features);
  x = Dropout(g.Scope("dropout"), x, {.rate = 0.2, .is_training = is_training});
  network.logits = Dense(g.Scope("classes"), x, {.units = classes});
  return network;
}

}  // namespace

Network MobileNet(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  Network network = BuildMobileNet(g, images, options.is_training, 1001);
  network.logits =
      Dense(g.Scope("logits"), network.logits, {.units = options.num_classes});
  return network;
}

Network MobileNetV2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildMobileNet(g, images, options.is_training, options.num_classes);
}

}  // namespace spillway

// Residual networks of two-convolution blocks for images of 32 x 32 pixels:
// three stages of n blocks and 6 n + 2 layers with weights.
//
//   v1  conv BN ReLU, conv BN, + shortcut, ReLU
//   v2  BN ReLU conv, BN ReLU conv, + shortcut; the sum is not activated, so
//       the network ends with one more BN ReLU
//
// A shortcut into a later stage has no weights: it takes every second pixel and
// adds zeros for the new channels.
//
// Sources: He et al., "Deep residual learning for image recognition", CVPR
// 2016, section 4.2 (v1); He et al., "Identity mappings in deep residual
// networks", ECCV 2016 (v2).
#include <fmt/format.h>

#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

struct CifarBlock {
  int64_t filters = 0;
  int64_t stride = 1;
  bool is_training = true;
};

using AddBlock = Tensor (*)(const NameScope& scope, Tensor x,
                            const CifarBlock& block);

Conv2DOptions Conv3x3(int64_t filters, int64_t stride = 1) {
  return {.filters = filters,
          .kernel = {3, 3},
          .strides = {stride, stride},
          .use_bias = false};
}

Tensor CifarShortcut(const NameScope& scope, Tensor x,
                     const CifarBlock& block) {
  return PadChannels(scope, Subsample(scope, x, block.stride), block.filters);
}

Tensor AddCifarBlockV1(const NameScope& scope, Tensor x,
                       const CifarBlock& block) {
  const BatchNormOptions norm =
      ResNetNorm(block.is_training, Activation::kRelu);
  BatchNormOptions sum = norm;
  sum.side = CifarShortcut(scope.Scope("shortcut"), x, block);
  Tensor y = x;
  y = ConvNorm(scope.Scope("conv1"), y, Conv3x3(block.filters, block.stride),
               norm);
  return ConvNorm(scope.Scope("conv2"), y, Conv3x3(block.filters), sum);
}

Tensor AddCifarBlockV2(const NameScope& scope, Tensor x,
                       const CifarBlock& block) {
  const BatchNormOptions norm =
      ResNetNorm(block.is_training, Activation::kRelu);
  const Tensor shortcut = CifarShortcut(scope.Scope("shortcut"), x, block);
  Tensor y = BatchNorm(scope.Scope("preact"), x, norm);
  y = ConvNorm(scope.Scope("conv1"), y, Conv3x3(block.filters, block.stride),
               norm);
  y = Conv2D(scope.Scope("conv2"), y, Conv3x3(block.filters));
  return Add(scope, y, shortcut);
}

// `blocks`: per stage.
Tensor Stages(GraphBuilder& g, Tensor x, bool is_training, int blocks,
              AddBlock add_block) {
  for (int stage = 0; stage < 3; ++stage) {
    CifarBlock block = {.filters = int64_t{16} << stage,
                        .stride = stage == 0 ? 1 : 2,
                        .is_training = is_training};
    const NameScope scope = g.Scope(fmt::format("stage{}", stage + 1));
    for (int i = 1; i <= blocks; ++i) {
      x = add_block(scope.Scope(fmt::format("block{}", i)), x, block);
      block.stride = 1;
    }
  }
  return x;
}

Network Classify(GraphBuilder& g, Tensor features,
                 const ModelOptions& options) {
  Tensor x = GlobalAveragePool(g.Scope("pool"), features);
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

Network BuildCifarV1(GraphBuilder& g, Tensor x, const ModelOptions& options,
                     int blocks) {
  const bool training = options.is_training;
  x = ConvNorm(g.Scope("conv1"), x, Conv3x3(16),
               ResNetNorm(training, Activation::kNone));
  x = Stages(g, x, training, blocks, AddCifarBlockV1);
  return Classify(g, x, options);
}

Network BuildCifarV2(GraphBuilder& g, Tensor x, const ModelOptions& options,
                     int blocks) {
  const BatchNormOptions norm =
      ResNetNorm(options.is_training, Activation::kRelu);
  x = ConvNorm(g.Scope("conv1"), x, Conv3x3(16), norm);
  x = Stages(g, x, options.is_training, blocks, AddCifarBlockV2);
  x = BatchNorm(g.Scope("postact"), x, norm);
  return Classify(g, x, options);
}

}  // namespace

Network ResNet20(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildCifarV1(g, images, options, 3);
}

Network ResNet20V2(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  return BuildCifarV2(g, images, options, 3);
}

Network ResNet32(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildCifarV1(g, images, options, 5);
}

Network ResNet32V2(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  return BuildCifarV2(g, images, options, 5);
}

Network ResNet44(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildCifarV1(g, images, options, 7);
}

Network ResNet44V2(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  return BuildCifarV2(g, images, options, 7);
}

Network ResNet56(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildCifarV1(g, images, options, 9);
}

Network ResNet56V2(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  return BuildCifarV2(g, images, options, 9);
}

Network ResNet110(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildCifarV1(g, images, options, 18);
}

Network ResNet110V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildCifarV2(g, images, options, 18);
}

}  // namespace spillway

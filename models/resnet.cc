// Residual networks of bottleneck blocks, in three versions:
//
//   v1    conv BN ReLU, conv BN ReLU, conv BN, + shortcut, ReLU; a stage's
//         stride is on its first 1 x 1 convolution
//   v1.5  the same with the stride on the 3 x 3 convolution
//   v2    BN ReLU conv, BN ReLU conv, BN ReLU conv, + shortcut; the sum is not
//         activated, so the network ends with one more BN ReLU
//
// Sources: He et al., "Deep residual learning for image recognition", CVPR
// 2016, table 1 (v1); He et al., "Identity mappings in deep residual networks",
// ECCV 2016 (v2).
#include <fmt/format.h>

#include <array>
#include <string>

#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

enum class Version : uint8_t { kV1, kV15, kV2 };

struct ResNet {
  Version version = Version::kV1;
  std::array<int, 4> blocks = {};  // in each stage
};

// The parameters of one block.
struct ResNetBlock {
  Version version = Version::kV1;
  bool is_training = true;
  int64_t middle = 0;  // channels of the first two convolutions
  int64_t out = 0;     // channels of the last
  int64_t stride = 1;
};

Tensor ResNetShortcut(const NameScope& scope, Tensor x,
                      const ResNetBlock& block) {
  if (x.shape().dim(-1) == block.out) return Subsample(scope, x, block.stride);
  return ConvNorm(scope, x, ResNetConv(block.out, 1, block.stride),
                  ResNetNorm(block.is_training, Activation::kNone));
}

Tensor AddBlockV1(const NameScope& scope, Tensor x, const ResNetBlock& block) {
  const bool late_stride = block.version == Version::kV15;
  const int64_t stride1 = late_stride ? 1 : block.stride;
  const int64_t stride2 = late_stride ? block.stride : 1;
  const BatchNormOptions norm =
      ResNetNorm(block.is_training, Activation::kRelu);
  BatchNormOptions sum = norm;
  sum.side = ResNetShortcut(scope.Scope("shortcut"), x, block);

  Tensor y = x;
  y = ConvNorm(scope.Scope("conv1"), y, ResNetConv(block.middle, 1, stride1),
               norm);
  y = ConvNorm(scope.Scope("conv2"), y, ResNetConv(block.middle, 3, stride2),
               norm);
  return ConvNorm(scope.Scope("conv3"), y, ResNetConv(block.out, 1), sum);
}

Tensor AddBlockV2(const NameScope& scope, Tensor x, const ResNetBlock& block) {
  const BatchNormOptions norm =
      ResNetNorm(block.is_training, Activation::kRelu);
  Tensor y = BatchNorm(scope.Scope("preact"), x, norm);
  const Tensor shortcut =
      x.shape().dim(-1) == block.out
          ? Subsample(scope.Scope("shortcut"), x, block.stride)
          : Conv2D(scope.Scope("shortcut"), y,
                   ResNetConv(block.out, 1, block.stride));
  y = ConvNorm(scope.Scope("conv1"), y,
               ResNetConv(block.middle, 1, block.stride), norm);
  y = ConvNorm(scope.Scope("conv2"), y, ResNetConv(block.middle, 3), norm);
  y = Conv2D(scope.Scope("conv3"), y, ResNetConv(block.out, 1));
  return Add(scope, y, shortcut);
}

Network BuildResNet(GraphBuilder& g, Tensor images, const ModelOptions& options,
                    const ResNet& net) {
  const BatchNormOptions norm =
      ResNetNorm(options.is_training, Activation::kRelu);
  Tensor x = images;
  x = ConvNorm(g.Scope("conv1"), x, ResNetConv(64, 7, 2), norm);
  x = MaxPool(g.Scope("pool1"), x, {.window = {3, 3}, .padding = "SAME"});
  for (int stage = 0; stage < 4; ++stage) {
    ResNetBlock block = {.version = net.version,
                         .is_training = options.is_training,
                         .middle = int64_t{64} << stage,
                         .out = int64_t{256} << stage,
                         .stride = stage == 0 ? 1 : 2};
    for (int i = 0; i < net.blocks[static_cast<size_t>(stage)]; ++i) {
      if (!g.status().ok()) return {};
      const NameScope scope = g.Scope(fmt::format("stage{}", stage + 1))
                                  .Scope(fmt::format("block{}", i + 1));
      x = net.version == Version::kV2 ? AddBlockV2(scope, x, block)
                                      : AddBlockV1(scope, x, block);
      block.stride = 1;
    }
  }
  if (net.version == Version::kV2) x = BatchNorm(g.Scope("postact"), x, norm);
  const Tensor features = x;
  x = GlobalAveragePool(g.Scope("pool5"), x);
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

constexpr std::array<int, 4> k50 = {3, 4, 6, 3};
constexpr std::array<int, 4> k101 = {3, 4, 23, 3};
constexpr std::array<int, 4> k152 = {3, 8, 36, 3};

}  // namespace

Network ResNet50(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV1, k50});
}

Network ResNet50V15(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV15, k50});
}

Network ResNet50V2(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV2, k50});
}

Network ResNet101(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV1, k101});
}

Network ResNet101V15(GraphBuilder& g, Tensor images,
                     const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV15, k101});
}

Network ResNet101V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV2, k101});
}

Network ResNet152(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV1, k152});
}

Network ResNet152V15(GraphBuilder& g, Tensor images,
                     const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV15, k152});
}

Network ResNet152V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildResNet(g, images, options, {Version::kV2, k152});
}

}  // namespace spillway

// Single-shot detector on a residual trunk of 34 layers: class scores and box
// offsets for every anchor of six feature maps.
//
//   trunk   7x7/2 64, max 3x3/2, basic blocks 3 x 64, 4 x 128 (/2), 6 x 256
//   maps    trunk, and five more: 1x1 and 3x3 convolutions of the one before
//   heads   a 3x3 convolution of each map for the boxes, one for the classes
//
// At 300 x 300 pixels the maps have 38, 19, 10, 5, 3 and 1 cells per side:
// 8,732 anchors. Labels are a class for each anchor, targets four numbers for
// each (models/zoo.h). The data set has to match anchors to objects.
// Sources: Liu et al., "SSD: single shot multibox detector", ECCV 2016; the
// trunk as MLPerf's training reference has it.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

// A map made from the one before it: 1x1 to `middle` channels, 3x3 to `out`.
struct Extra {
  int64_t middle = 0;
  int64_t out = 0;
  int64_t stride = 1;
  const char* padding = "SAME";
};

constexpr std::array<Extra, 5> kExtras = {{{256, 512, 2},
                                           {256, 512, 2},
                                           {128, 256, 2},
                                           {128, 256, 1, "VALID"},
                                           {128, 256, 1, "VALID"}}};
constexpr std::array<int64_t, 6> kAnchors = {4, 6, 6, 6, 4, 4};  // per cell

BatchNormOptions SsdNorm(bool is_training, Activation activation) {
  return {.epsilon = 1e-4,
          .momentum = 0.997,
          .is_training = is_training,
          .activation = activation};
}

// conv BN ReLU, conv BN, + shortcut, ReLU.
Tensor BasicBlock(const NameScope& scope, Tensor x, int64_t filters,
                  int64_t stride, bool is_training) {
  const BatchNormOptions norm = SsdNorm(is_training, Activation::kRelu);
  BatchNormOptions sum = norm;
  sum.side = x;
  if (x.shape().dim(-1) != filters) {
    sum.side =
        ConvNorm(scope.Scope("shortcut"), x, ResNetConv(filters, 1, stride),
                 SsdNorm(is_training, Activation::kNone));
  }
  const Tensor y =
      ConvNorm(scope.Scope("conv1"), x, ResNetConv(filters, 3, stride), norm);
  return ConvNorm(scope.Scope("conv2"), y, ResNetConv(filters, 3), sum);
}

Tensor SsdTrunk(GraphBuilder& g, Tensor x, bool is_training) {
  struct Stage {
    int blocks;
    int64_t filters;
    int64_t stride;
  };
  constexpr std::array<Stage, 3> kStages = {
      {{3, 64, 1}, {4, 128, 2}, {6, 256, 1}}};
  x = ConvNorm(g.Scope("conv1"), x, ResNetConv(64, 7, 2),
               SsdNorm(is_training, Activation::kRelu));
  x = MaxPool(g.Scope("pool1"), x, {.window = {3, 3}, .padding = "SAME"});
  for (size_t stage = 0; stage < kStages.size(); ++stage) {
    const auto& [blocks, filters, stride] = kStages[stage];
    for (int block = 0; block < blocks; ++block) {
      if (!g.status().ok()) return {};
      const NameScope scope = g.Scope(fmt::format("stage{}", stage + 1))
                                  .Scope(fmt::format("block{}", block + 1));
      x = BasicBlock(scope, x, filters, block == 0 ? stride : 1, is_training);
    }
  }
  return x;
}

std::vector<Tensor> FeatureMaps(GraphBuilder& g, Tensor x, bool is_training) {
  std::vector<Tensor> maps = {SsdTrunk(g, x, is_training)};
  for (size_t i = 0; i < kExtras.size(); ++i) {
    const Extra& extra = kExtras[i];
    const NameScope scope = g.Scope(fmt::format("extra{}", i + 1));
    x = Conv2D(scope.Scope("conv1"), maps.back(),
               {.filters = extra.middle, .activation = Activation::kRelu});
    x = Conv2D(scope.Scope("conv2"), x,
               {.filters = extra.out,
                .kernel = {3, 3},
                .strides = {extra.stride, extra.stride},
                .padding = extra.padding,
                .activation = Activation::kRelu});
    maps.push_back(x);
  }
  return maps;
}

// `numbers` for each anchor of `map`: [batch, cells * anchors, numbers].
Tensor SsdHead(const NameScope& scope, Tensor map, int64_t anchors,
               int64_t numbers) {
  const Tensor y =
      Conv2D(scope, map, {.filters = anchors * numbers, .kernel = {3, 3}});
  if (!y.is_valid()) return {};
  const int64_t batch = y.shape().dim(0);
  const int64_t rows = y.shape().num_elements() / batch / numbers;
  return Reshape(scope, y, {batch, rows, numbers});
}

// The concatenated heads of all maps: [batch, anchors, numbers].
Tensor SsdHeads(const NameScope& scope, const std::vector<Tensor>& maps,
                int64_t numbers) {
  std::vector<Tensor> heads;
  for (size_t i = 0; i < maps.size(); ++i) {
    heads.push_back(SsdHead(scope.Scope(fmt::format("map{}", i + 1)), maps[i],
                            kAnchors[i], numbers));
  }
  return Concat(scope, std::move(heads), 1);
}

}  // namespace

Network Ssd300(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  const std::vector<Tensor> maps = FeatureMaps(g, images, options.is_training);
  const Tensor boxes = SsdHeads(g.Scope("boxes"), maps, 4);
  const Tensor classes =
      SsdHeads(g.Scope("classes"), maps, options.num_classes);
  if (!g.status().ok()) return {};
  const Shape& shape = classes.shape();
  const Shape labels = {shape.dim(0), shape.dim(1)};
  return {.features = maps.back(),
          .logits = Reshape(g.Scope("classes"), classes,
                            {labels.num_elements(), shape.dim(2)}),
          .labels = labels,
          .regression = boxes};
}

}  // namespace spillway

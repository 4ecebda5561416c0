// GoogLeNet, without local response normalisation and auxiliary classifiers.
//
// Source: Szegedy et al., "Going deeper with convolutions", CVPR 2015, table 1.
#include "models/layers/blocks.h"
#include "models/layers/branches.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

// A row of the table: filters of each branch, and of its 1 x 1 reduction.
struct Module {
  int64_t conv1 = 0;
  int64_t reduce3 = 0;
  int64_t conv3 = 0;
  int64_t reduce5 = 0;
  int64_t conv5 = 0;
  int64_t pool = 0;
};

Tensor Inception(const NameScope& scope, Tensor x, const Module& module) {
  using branch::Conv;
  return AddBranches(scope, x, std::nullopt,
                     {{Conv(module.conv1, 1, 1)},
                      {Conv(module.reduce3, 1, 1), Conv(module.conv3, 3, 3)},
                      {Conv(module.reduce5, 1, 1), Conv(module.conv5, 5, 5)},
                      {branch::MaxPool(), Conv(module.pool, 1, 1)}});
}

}  // namespace

Network GoogLeNet(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  const PoolOptions pool = {.window = {3, 3}, .padding = "SAME"};

  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x,
             {.filters = 64, .kernel = {7, 7}, .strides = {2, 2}});
  x = MaxPoolRelu(g.Scope("pool1"), x, pool);
  x = Conv2D(g.Scope("conv2_reduce"), x,
             {.filters = 64, .activation = Activation::kRelu});
  x = Conv2D(g.Scope("conv2"), x, {.filters = 192, .kernel = {3, 3}});
  x = MaxPoolRelu(g.Scope("pool2"), x, pool);
  x = Inception(g.Scope("inception_3a"), x, {64, 96, 128, 16, 32, 32});
  x = Inception(g.Scope("inception_3b"), x, {128, 128, 192, 32, 96, 64});
  x = MaxPool(g.Scope("pool3"), x, pool);
  x = Inception(g.Scope("inception_4a"), x, {192, 96, 208, 16, 48, 64});
  x = Inception(g.Scope("inception_4b"), x, {160, 112, 224, 24, 64, 64});
  x = Inception(g.Scope("inception_4c"), x, {128, 128, 256, 24, 64, 64});
  x = Inception(g.Scope("inception_4d"), x, {112, 144, 288, 32, 64, 64});
  x = Inception(g.Scope("inception_4e"), x, {256, 160, 320, 32, 128, 128});
  x = MaxPool(g.Scope("pool4"), x, pool);
  x = Inception(g.Scope("inception_5a"), x, {256, 160, 320, 32, 128, 128});
  x = Inception(g.Scope("inception_5b"), x, {384, 192, 384, 48, 128, 128});
  const Tensor features = x;
  x = FinalAveragePool(g.Scope("pool5"), x, 7);
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

// Inception 3. Where the paper draws two branches with a common beginning, that
// beginning is computed once here too.
//
// Source: Szegedy et al., "Rethinking the Inception architecture for computer
// vision", CVPR 2016, table 1, figures 5 to 8 and 10; the last two modules pool
// differently, as in the authors' code.
#include "models/layers/blocks.h"
#include "models/layers/branches.h"
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

using branch::AvgPool;
using branch::Conv;
using branch::HalvingMaxPool;
using branch::Shared;
using branch::ValidConv;

Tensor InceptionV3Stem(GraphBuilder& g, Tensor x,
                       const BatchNormOptions& norm) {
  const PoolOptions pool = {.window = {3, 3}};
  x = ConvNorm(
      g.Scope("conv1"), x,
      {.filters = 32, .kernel = {3, 3}, .strides = {2, 2}, .padding = "VALID"},
      norm);
  x = ConvNorm(g.Scope("conv2"), x,
               {.filters = 32, .kernel = {3, 3}, .padding = "VALID"}, norm);
  x = ConvNorm(g.Scope("conv3"), x, {.filters = 64, .kernel = {3, 3}}, norm);
  x = MaxPool(g.Scope("pool1"), x, pool);
  x = ConvNorm(g.Scope("conv4"), x, {.filters = 80}, norm);
  x = ConvNorm(g.Scope("conv5"), x,
               {.filters = 192, .kernel = {3, 3}, .padding = "VALID"}, norm);
  return MaxPool(g.Scope("pool2"), x, pool);
}

Tensor InceptionV3A(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm, int64_t pooled) {
  return AddBranches(scope, x, norm,
                     {{Conv(64, 1, 1)},
                      {Conv(48, 1, 1), Conv(64, 5, 5)},
                      {Conv(64, 1, 1), Conv(96, 3, 3), Conv(96, 3, 3)},
                      {AvgPool(), Conv(pooled, 1, 1)}});
}

Tensor InceptionV3B(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm) {
  return AddBranches(scope, x, norm,
                     {{ValidConv(384, 3, 3, 2)},
                      {Conv(64, 1, 1), Conv(96, 3, 3), ValidConv(96, 3, 3, 2)},
                      {HalvingMaxPool()}});
}

Tensor InceptionV3C(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm, int64_t n) {
  return AddBranches(scope, x, norm,
                     {{Conv(192, 1, 1)},
                      {Conv(n, 1, 1), Conv(n, 1, 7), Conv(192, 7, 1)},
                      {Conv(n, 1, 1), Conv(n, 7, 1), Conv(n, 1, 7),
                       Conv(n, 7, 1), Conv(192, 1, 7)},
                      {AvgPool(), Conv(192, 1, 1)}});
}

Tensor InceptionV3D(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm) {
  return AddBranches(scope, x, norm,
                     {{Conv(192, 1, 1), ValidConv(320, 3, 3, 2)},
                      {Conv(192, 1, 1), Conv(192, 1, 7), Conv(192, 7, 1),
                       ValidConv(192, 3, 3, 2)},
                      {HalvingMaxPool()}});
}

Tensor InceptionV3E(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm, const BranchLayer& pool) {
  return AddBranches(scope, x, norm,
                     {{Conv(320, 1, 1)},
                      {Conv(384, 1, 1), Conv(384, 1, 3)},
                      {Shared(), Conv(384, 3, 1)},
                      {Conv(448, 1, 1), Conv(384, 3, 3), Conv(384, 1, 3)},
                      {Shared(), Shared(), Conv(384, 3, 1)},
                      {pool, Conv(192, 1, 1)}});
}

// The mean is over one pixel for images of the published size.
Tensor InceptionV3Head(const NameScope& scope, Tensor x,
                       const BatchNormOptions& norm, int64_t num_classes) {
  x = AvgPool(scope.Scope("pool"), x, {.window = {5, 5}, .strides = {3, 3}});
  x = ConvNorm(scope.Scope("conv1"), x, {.filters = 128}, norm);
  x = ConvNorm(scope.Scope("conv2"), x,
               {.filters = 768,
                .kernel = {5, 5},
                .padding = "VALID",
                .initializer = Initializer::TruncatedNormal(0.01)},
               norm);
  x = GlobalAveragePool(scope.Scope("mean"), x);
  return Dense(scope.Scope("logits"), x, {.units = num_classes});
}

}  // namespace

Network Inception3(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  const BatchNormOptions norm = InceptionNorm(options.is_training);
  Network network;
  Tensor x = InceptionV3Stem(g, images, norm);
  x = InceptionV3A(g.Scope("mixed_0"), x, norm, 32);
  x = InceptionV3A(g.Scope("mixed_1"), x, norm, 64);
  x = InceptionV3A(g.Scope("mixed_2"), x, norm, 64);
  x = InceptionV3B(g.Scope("mixed_3"), x, norm);
  x = InceptionV3C(g.Scope("mixed_4"), x, norm, 128);
  x = InceptionV3C(g.Scope("mixed_5"), x, norm, 160);
  x = InceptionV3C(g.Scope("mixed_6"), x, norm, 160);
  x = InceptionV3C(g.Scope("mixed_7"), x, norm, 192);
  if (options.auxiliary_head) {
    network.auxiliary.push_back(
        {.logits = InceptionV3Head(g.Scope("auxiliary"), x, norm,
                                   options.num_classes)});
  }
  x = InceptionV3D(g.Scope("mixed_8"), x, norm);
  x = InceptionV3E(g.Scope("mixed_9"), x, norm, AvgPool());
  x = InceptionV3E(g.Scope("mixed_10"), x, norm, branch::MaxPool());
  network.features = x;
  x = FinalAveragePool(g.Scope("pool"), x, 8);
  network.logits = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return network;
}

}  // namespace spillway

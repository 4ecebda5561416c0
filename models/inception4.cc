// Inception 4. Where the paper draws two branches with a common beginning, that
// beginning is computed once here too.
//
// Source: Szegedy et al., "Inception-v4, Inception-ResNet and the impact of
// residual connections on learning", AAAI 2017, figures 3 to 9.
#include <fmt/format.h>

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

Tensor InceptionV4Stem(GraphBuilder& g, Tensor x,
                       const BatchNormOptions& norm) {
  x = ConvNorm(
      g.Scope("conv1"), x,
      {.filters = 32, .kernel = {3, 3}, .strides = {2, 2}, .padding = "VALID"},
      norm);
  x = ConvNorm(g.Scope("conv2"), x,
               {.filters = 32, .kernel = {3, 3}, .padding = "VALID"}, norm);
  x = ConvNorm(g.Scope("conv3"), x, {.filters = 64, .kernel = {3, 3}}, norm);
  x = AddBranches(g.Scope("stem_1"), x, norm,
                  {{HalvingMaxPool()}, {ValidConv(96, 3, 3, 2)}});
  x = AddBranches(g.Scope("stem_2"), x, norm,
                  {{Conv(64, 1, 1), ValidConv(96, 3, 3, 1)},
                   {Conv(64, 1, 1), Conv(64, 7, 1), Conv(64, 1, 7),
                    ValidConv(96, 3, 3, 1)}});
  return AddBranches(g.Scope("stem_3"), x, norm,
                     {{ValidConv(192, 3, 3, 2)}, {HalvingMaxPool()}});
}

Tensor InceptionV4A(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm) {
  return AddBranches(scope, x, norm,
                     {{AvgPool(), Conv(96, 1, 1)},
                      {Conv(96, 1, 1)},
                      {Conv(64, 1, 1), Conv(96, 3, 3)},
                      {Conv(64, 1, 1), Conv(96, 3, 3), Conv(96, 3, 3)}});
}

Tensor InceptionV4ReductionA(const NameScope& scope, Tensor x,
                             const BatchNormOptions& norm) {
  return AddBranches(
      scope, x, norm,
      {{HalvingMaxPool()},
       {ValidConv(384, 3, 3, 2)},
       {Conv(192, 1, 1), Conv(224, 3, 3), ValidConv(256, 3, 3, 2)}});
}

Tensor InceptionV4B(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm) {
  return AddBranches(scope, x, norm,
                     {{AvgPool(), Conv(128, 1, 1)},
                      {Conv(384, 1, 1)},
                      {Conv(192, 1, 1), Conv(224, 1, 7), Conv(256, 7, 1)},
                      {Conv(192, 1, 1), Conv(192, 1, 7), Conv(224, 7, 1),
                       Conv(224, 1, 7), Conv(256, 7, 1)}});
}

Tensor InceptionV4ReductionB(const NameScope& scope, Tensor x,
                             const BatchNormOptions& norm) {
  return AddBranches(scope, x, norm,
                     {{HalvingMaxPool()},
                      {Conv(192, 1, 1), ValidConv(192, 3, 3, 2)},
                      {Conv(256, 1, 1), Conv(256, 1, 7), Conv(320, 7, 1),
                       ValidConv(320, 3, 3, 2)}});
}

Tensor InceptionV4C(const NameScope& scope, Tensor x,
                    const BatchNormOptions& norm) {
  return AddBranches(
      scope, x, norm,
      {{AvgPool(), Conv(256, 1, 1)},
       {Conv(256, 1, 1)},
       {Conv(384, 1, 1), Conv(256, 1, 3)},
       {Shared(), Conv(256, 3, 1)},
       {Conv(384, 1, 1), Conv(448, 1, 3), Conv(512, 3, 1), Conv(256, 3, 1)},
       {Shared(), Shared(), Shared(), Conv(256, 1, 3)}});
}

// Repetitions of a module, named a_1, a_2, ...
struct Modules {
  const char* name = "";
  int times = 0;
  Tensor (*add)(const NameScope& scope, Tensor x,
                const BatchNormOptions& norm) = nullptr;
};

Tensor Repeat(GraphBuilder& g, const Modules& modules, Tensor x,
              const BatchNormOptions& norm) {
  for (int i = 1; i <= modules.times; ++i) {
    const auto name = fmt::format("{}_{}", modules.name, i);
    x = modules.add(g.Scope(name), x, norm);
  }
  return x;
}

}  // namespace

Network Inception4(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) {
  const BatchNormOptions norm = InceptionNorm(options.is_training);
  Tensor x = InceptionV4Stem(g, images, norm);
  x = Repeat(g, {"a", 4, InceptionV4A}, x, norm);
  x = InceptionV4ReductionA(g.Scope("reduction_a"), x, norm);
  x = Repeat(g, {"b", 7, InceptionV4B}, x, norm);
  x = InceptionV4ReductionB(g.Scope("reduction_b"), x, norm);
  x = Repeat(g, {"c", 3, InceptionV4C}, x, norm);
  const Tensor features = x;
  x = GlobalAveragePool(g.Scope("pool"), x);
  x = Dropout(g.Scope("dropout"), x,
              {.rate = 0.2, .is_training = options.is_training});
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

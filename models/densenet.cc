// DenseNet for CIFAR: three blocks of layers. Each layer adds `growth` channels
// to all those before it. Convolutions have biases, which the paper's do not.
//
// Source: Huang et al., "Densely connected convolutional networks", CVPR 2017,
// sections 3 and 4.2 (without bottlenecks and compression).
#include <fmt/format.h>

#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

struct DenseNet {
  int layers = 0;  // in each block
  int64_t growth = 0;
};

Tensor NormRelu(const NameScope& scope, Tensor x, bool is_training) {
  return BatchNorm(scope, x,
                   {.epsilon = 1e-5,
                    .momentum = 0.9,
                    .is_training = is_training,
                    .activation = Activation::kRelu});
}

Tensor Layer(const NameScope& scope, Tensor x, int64_t growth,
             bool is_training) {
  Tensor y = NormRelu(scope, x, is_training);
  y = Conv2D(scope, y, {.filters = growth, .kernel = {3, 3}});
  return ConcatChannels(scope, {x, y});
}

Tensor Transition(const NameScope& scope, Tensor x, bool is_training) {
  const int64_t channels = x.shape().dim(-1);
  x = NormRelu(scope, x, is_training);
  x = Conv2D(scope, x, {.filters = channels});
  return AvgPool(scope, x, {});
}

Network Build(GraphBuilder& g, Tensor images, const ModelOptions& options,
              const DenseNet& net) {
  const bool training = options.is_training;
  Tensor x =
      Conv2D(g.Scope("conv1"), images, {.filters = 16, .kernel = {3, 3}});
  for (int block = 1; block <= 3; ++block) {
    if (block > 1) {
      if (!x.is_valid()) return {};
      const auto name = fmt::format("transition{}", block - 1);
      x = Transition(g.Scope(name), x, training);
    }
    const NameScope scope = g.Scope(fmt::format("block{}", block));
    for (int layer = 1; layer <= net.layers; ++layer) {
      x = Layer(scope.Scope(fmt::format("layer{}", layer)), x, net.growth,
                training);
    }
  }
  x = NormRelu(g.Scope("postact"), x, training);
  const Tensor features = x;
  x = GlobalAveragePool(g.Scope("pool"), x);
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace

Network DenseNet40K12(GraphBuilder& g, Tensor images,
                      const ModelOptions& options) {
  return Build(g, images, options, {.layers = 12, .growth = 12});
}

Network DenseNet100K12(GraphBuilder& g, Tensor images,
                       const ModelOptions& options) {
  return Build(g, images, options, {.layers = 32, .growth = 12});
}

Network DenseNet100K24(GraphBuilder& g, Tensor images,
                       const ModelOptions& options) {
  return Build(g, images, options, {.layers = 32, .growth = 24});
}

}  // namespace spillway

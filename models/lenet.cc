// LeNet-5's successor as in tf_cnn_benchmarks: two convolutions, one hidden
// layer, ReLU throughout.
//
// Source: LeCun et al., "Gradient-based learning applied to document
// recognition", Proceedings of the IEEE 86(11), 1998.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {

Network LeNet(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x, {.filters = 32, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool1"), x, {});
  x = Conv2D(g.Scope("conv2"), x, {.filters = 64, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool2"), x, {});
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc1"), x, {.units = 512, .activation = Activation::kRelu});
  x = Dense(g.Scope("logits"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

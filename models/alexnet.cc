// AlexNet on one device, without local response normalisation.
//
// Source: Krizhevsky, "One weird trick for parallelizing convolutional neural
// networks", arXiv 1404.5997, 2014.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {

Network AlexNet(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  constexpr Activation kRelu = Activation::kRelu;
  const PoolOptions pool = {.window = {3, 3}};
  const DropoutOptions dropout = {.is_training = options.is_training};

  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x,
             {.filters = 64,
              .kernel = {11, 11},
              .strides = {4, 4},
              .padding = "VALID"});
  x = MaxPoolRelu(g.Scope("pool1"), x, pool);
  x = Conv2D(g.Scope("conv2"), x, {.filters = 192, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool2"), x, pool);
  x = Conv2D(g.Scope("conv3"), x,
             {.filters = 384, .kernel = {3, 3}, .activation = kRelu});
  x = Conv2D(g.Scope("conv4"), x,
             {.filters = 384, .kernel = {3, 3}, .activation = kRelu});
  x = Conv2D(g.Scope("conv5"), x, {.filters = 256, .kernel = {3, 3}});
  x = MaxPoolRelu(g.Scope("pool5"), x, pool);
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc6"), x, {.units = 4096, .activation = kRelu});
  x = Dropout(g.Scope("dropout6"), x, dropout);
  x = Dense(g.Scope("fc7"), x, {.units = 4096, .activation = kRelu});
  x = Dropout(g.Scope("dropout7"), x, dropout);
  x = Dense(g.Scope("fc8"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

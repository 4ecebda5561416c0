// AlexNet for CIFAR-10: two convolutions, normalised across channels, and two
// fully connected layers.
//
// Sources: Krizhevsky, "Learning multiple layers of features from tiny images",
// technical report, 2009; the CIFAR-10 tutorial of TensorFlow 1.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {

Network AlexNetCifar(GraphBuilder& g, Tensor images,
                     const ModelOptions& options) {
  constexpr Activation kRelu = Activation::kRelu;
  const Initializer conv = Initializer::TruncatedNormal(0.05);
  const Initializer dense = Initializer::TruncatedNormal(0.04);
  const Initializer bias = Initializer::Constant(0.1);
  const PoolOptions pool = {.window = {3, 3}, .padding = "SAME"};
  const LrnOptions lrn = {
      .depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75};

  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x,
             {.filters = 64, .kernel = {5, 5}, .initializer = conv});
  x = MaxPoolRelu(g.Scope("pool1"), x, pool);
  x = Lrn(g.Scope("norm1"), x, lrn);
  x = Conv2D(g.Scope("conv2"), x,
             {.filters = 64,
              .kernel = {5, 5},
              .activation = kRelu,
              .initializer = conv,
              .bias_initializer = bias});
  x = Lrn(g.Scope("norm2"), x, lrn);
  x = MaxPool(g.Scope("pool2"), x, pool);
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc3"), x,
            {.units = 384,
             .activation = kRelu,
             .initializer = dense,
             .bias_initializer = bias});
  x = Dense(g.Scope("fc4"), x,
            {.units = 192,
             .activation = kRelu,
             .initializer = dense,
             .bias_initializer = bias});
  x = Dense(g.Scope("fc5"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

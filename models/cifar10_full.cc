// Caffe's "full" network for CIFAR-10: three convolutions with pools, the first
// two normalised within their channels. The initial weights are the zoo's:
// Caffe's are meant for pixel values from 0 to 255 minus their mean.
//
// Source: BVLC/caffe, examples/cifar10/cifar10_full_train_test.prototxt.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

// Local response normalisation over 3 x 3 pixels of a channel,
//
//   x s^-0.75  with  s = 1 + alpha * mean of x^2 over the window,
//
// where pixels beyond the edge count as zeros. The op LRN sums over channels;
// over one channel it is a power: s (s^2)^-0.875 = s^-0.75.
Tensor NormWithinChannel(const NameScope& scope, Tensor x) {
  constexpr double kAlpha = 5e-5;
  const Tensor squares =
      scope.builder().Add(scope, {.op = "Mul", .inputs = {x, x}});
  const Tensor means = AvgPool(scope, squares,
                               {.window = {3, 3},
                                .strides = {1, 1},
                                .padding = "SAME",
                                .count_include_pad = true});
  const Tensor scaled = Scale(scope, means, kAlpha);
  const Tensor s = Add(scope, scaled, Constant(scope, scaled.type().dtype, 1));
  const Tensor power =
      Lrn(scope, s, {.depth_radius = 0, .bias = 0, .alpha = 1, .beta = 0.875});
  return scope.builder().Add(scope, {.op = "Mul", .inputs = {x, power}});
}

}  // namespace

Network Cifar10Full(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  constexpr Activation kRelu = Activation::kRelu;
  const PoolOptions pool = {.window = {3, 3}, .padding = "CEIL"};

  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x, {.filters = 32, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool1"), x, pool);
  x = NormWithinChannel(g.Scope("norm1"), x);
  x = Conv2D(g.Scope("conv2"), x,
             {.filters = 32, .kernel = {5, 5}, .activation = kRelu});
  x = AvgPool(g.Scope("pool2"), x, pool);
  x = NormWithinChannel(g.Scope("norm2"), x);
  x = Conv2D(g.Scope("conv3"), x,
             {.filters = 64, .kernel = {5, 5}, .activation = kRelu});
  x = AvgPool(g.Scope("pool3"), x, pool);
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("ip1"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

// VGG: five stages of 3 x 3 convolutions, each ended by 2 x 2 max pooling, and
// three fully connected layers.
//
// Source: Simonyan and Zisserman, "Very deep convolutional networks for
// large-scale image recognition", ICLR 2015, table 1, columns A, D and E.
#include <fmt/format.h>

#include <array>

#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

constexpr std::array<int64_t, 5> kChannels = {64, 128, 256, 512, 512};

using Repeats = std::array<int, 5>;

Tensor Stage(GraphBuilder& g, int stage, int repeats, Tensor x) {
  for (int i = 0; i < repeats; ++i) {
    const bool is_last = i == repeats - 1;
    x = Conv2D(g.Scope(fmt::format("conv{}_{}", stage + 1, i + 1)), x,
               {.filters = kChannels[static_cast<size_t>(stage)],
                .kernel = {3, 3},
                .activation = is_last ? Activation::kNone : Activation::kRelu});
  }
  return MaxPoolRelu(g.Scope(fmt::format("pool{}", stage + 1)), x, {});
}

Network Vgg(GraphBuilder& g, Tensor images, const ModelOptions& options,
            const Repeats& repeats) {
  const DropoutOptions dropout = {.is_training = options.is_training};
  Tensor x = images;
  for (int stage = 0; stage < 5; ++stage) {
    x = Stage(g, stage, repeats[static_cast<size_t>(stage)], x);
  }
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc6"), x,
            {.units = 4096, .activation = Activation::kRelu});
  x = Dropout(g.Scope("dropout6"), x, dropout);
  x = Dense(g.Scope("fc7"), x,
            {.units = 4096, .activation = Activation::kRelu});
  x = Dropout(g.Scope("dropout7"), x, dropout);
  x = Dense(g.Scope("fc8"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace

Network Vgg11(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return Vgg(g, images, options, {1, 1, 2, 2, 2});
}

Network Vgg16(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return Vgg(g, images, options, {2, 2, 3, 3, 3});
}

Network Vgg19(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return Vgg(g, images, options, {2, 2, 4, 4, 4});
}

}  // namespace spillway

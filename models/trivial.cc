// The smallest network that still reads the whole image: one unit, then many.
// It measures everything around a network rather than a network.
//
// Source: tf_cnn_benchmarks.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {

Network Trivial(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  constexpr Activation kRelu = Activation::kRelu;
  Tensor x = Flatten(g.Scope("flatten"), images);
  x = Dense(g.Scope("fc1"), x, {.units = 1, .activation = kRelu});
  x = Dense(g.Scope("fc2"), x, {.units = 4096, .activation = kRelu});
  x = Dense(g.Scope("fc3"), x, {.units = options.num_classes});
  return {.features = images, .logits = x};
}

}  // namespace spillway

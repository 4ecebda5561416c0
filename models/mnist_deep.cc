// The network of TensorFlow 1.x' tutorial "Deep MNIST for Experts"
// (mnist_deep.py): 3,274,634 parameters at 28 x 28 x 1 and ten classes.
#include "models/layers/layers.h"
#include "models/networks.h"

namespace spillway {

Network MnistDeep(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x, {.filters = 32, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool1"), x, {.padding = "SAME"});
  x = Conv2D(g.Scope("conv2"), x, {.filters = 64, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool2"), x, {.padding = "SAME"});
  const Tensor features = x;
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc1"), x,
            {.units = 1024, .activation = Activation::kRelu});
  x = Dropout(g.Scope("dropout"), x, {.is_training = options.is_training});
  x = Dense(g.Scope("fc2"), x, {.units = options.num_classes});
  return {.features = features, .logits = x};
}

}  // namespace spillway

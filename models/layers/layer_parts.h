// Helpers shared by models/layers/layers.h, models/layers/volume_layers.h and
// models/layers/blocks.h; not for other files.
#ifndef SPILLWAY_MODELS_LAYERS_LAYER_PARTS_H_
#define SPILLWAY_MODELS_LAYERS_LAYER_PARTS_H_

#include <cstdint>
#include <string_view>

#include "graph/builder/builder.h"
#include "models/layers/initializer.h"
#include "models/layers/layers.h"

namespace spillway::layer {

// Whether a layer can be built: no earlier error, and `x` has `rank`
// dimensions.
bool HasRank(const NameScope& scope, Tensor x, int rank);

// Whether a layer can be built: its option, called `name`, is positive.
bool IsPositive(const NameScope& scope, int64_t value, std::string_view name);

Tensor BiasAdd(const NameScope& scope, Tensor x,
               const Initializer& initializer);

// Adds the bias, if the options have one, and the activation.
template <typename Options>
Tensor Finish(const NameScope& scope, Tensor y, const Options& options) {
  if (options.use_bias && y.is_valid()) {
    y = BiasAdd(scope, y, options.bias_initializer);
  }
  return Activate(scope, y, options.activation);
}

}  // namespace spillway::layer

#endif  // SPILLWAY_MODELS_LAYERS_LAYER_PARTS_H_

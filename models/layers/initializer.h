// Variables and their initial values: the `initializer` attribute of a Variable
// node (executor/session/resident_values.h draws the numbers, from the
// session's seed and the variable's name).
#ifndef SPILLWAY_MODELS_LAYERS_INITIALIZER_H_
#define SPILLWAY_MODELS_LAYERS_INITIALIZER_H_

#include <cstdint>
#include <string>

#include "graph/attributes.h"
#include "graph/builder/builder.h"

namespace spillway {

struct Initializer {
  enum class Kind : uint8_t { kConstant, kTruncatedNormal, kVarianceScaling };

  Kind kind = Kind::kConstant;
  double value = 0;   // kConstant: of every element
  double stddev = 0;  // kTruncatedNormal: before truncation at twice this
  double scale = 0;   // kVarianceScaling: truncated normal, variance
                      // scale / fan-in

  static Initializer Constant(double value) {
    return {.kind = Kind::kConstant, .value = value};
  }
  static Initializer TruncatedNormal(double stddev) {
    return {.kind = Kind::kTruncatedNormal, .stddev = stddev};
  }
  static Initializer VarianceScaling(double scale) {
    return {.kind = Kind::kVarianceScaling, .scale = scale};
  }
};

AttributeValue ToAttribute(const Initializer& initializer);

// A float32 Variable node named scope + `name`.
struct VariableSpec {
  std::string name;
  Shape shape;
  Initializer initializer = {};
  bool trainable = true;
};
Tensor AddVariable(const NameScope& scope, const VariableSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_INITIALIZER_H_

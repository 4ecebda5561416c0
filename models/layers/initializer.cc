#include "models/layers/initializer.h"

#include "graph/well_known_ops.h"

namespace spillway {

AttributeValue ToAttribute(const Initializer& initializer) {
  using Object = AttributeValue::Object;
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      return Object{{"kind", "constant"}, {"value", initializer.value}};
    case Initializer::Kind::kTruncatedNormal:
      return Object{{"kind", "truncated_normal"},
                    {"stddev", initializer.stddev}};
    case Initializer::Kind::kVarianceScaling:
      return Object{{"kind", "variance_scaling"},
                    {"scale", initializer.scale},
                    {"mode", "fan_in"}};
  }
  return {};
}

Tensor AddVariable(const NameScope& scope, const VariableSpec& spec) {
  return scope.builder().Add(
      scope, {.op = std::string(kVariable),
              .attributes = {{"dtype", DType::kFloat32},
                             {"shape", spec.shape},
                             {"initializer", ToAttribute(spec.initializer)},
                             {"trainable", spec.trainable}},
              .name = spec.name});
}

}  // namespace spillway

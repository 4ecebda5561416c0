#include "models/layers/layer_parts.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/status_macros.h"

namespace spillway::layer {

bool HasRank(const NameScope& scope, Tensor x, int rank) {
  if (!scope.builder().status().ok()) return false;
  if (x.is_valid() && x.shape().rank() == rank) return true;
  scope.builder().Fail(InvalidArgument(fmt::format(
      "{}: expects {}, not {}", scope.name(), Counted(rank, "dimension"),
      x.is_valid() ? x.type().ToString() : "an invalid tensor")));
  return false;
}

bool IsPositive(const NameScope& scope, int64_t value, std::string_view name) {
  if (value > 0) return true;
  scope.builder().Fail(InvalidArgument(fmt::format(
      "{}: {} is {}, must be positive", scope.name(), name, value)));
  return false;
}

Tensor BiasAdd(const NameScope& scope, Tensor x,
               const Initializer& initializer) {
  const Tensor biases = AddVariable(scope, {.name = "biases",
                                            .shape = {x.shape().dim(-1)},
                                            .initializer = initializer});
  return scope.builder().Add(scope, {.op = "BiasAdd", .inputs = {x, biases}});
}

}  // namespace spillway::layer

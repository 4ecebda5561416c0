// The `initializer` attribute of a Variable, resolved for its shape.
#ifndef SPILLWAY_EXECUTOR_SESSION_INITIALIZER_H_
#define SPILLWAY_EXECUTOR_SESSION_INITIALIZER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

// Every kind of initializer is one of these distributions.
struct InitialDistribution {
  enum class Kind : uint8_t {
    kConstant,
    kNormal,
    kTruncatedNormal,
    kUniform,
    kOrthogonal,
  };

  Kind kind = Kind::kConstant;
  double center = 0;  // the constant, the mean, or the lower end
  // Standard deviation before truncation, or the width, or the length of each
  // row (or column) of an orthogonal matrix.
  double spread = 0;
  bool from_normal = false;  // kOrthogonal; executor/session/orthogonal.h
};

// `attributes` are the Variable's; executor/session/resident_values.h lists
// what they may hold. Errors: INVALID_ARGUMENT.
absl::StatusOr<InitialDistribution> ReadInitializer(
    const Attributes& attributes, const TensorType& type);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_INITIALIZER_H_

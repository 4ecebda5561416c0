// Values element by element, with NumPy's broadcasting.
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_COMBINE_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_COMBINE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// y = op(a, b), where the op is one of two operands (Add, RealDiv, ...). The
// larger operand decides how the result lies. Of two dtypes, that of
// activations is used. Errors: INVALID_ARGUMENT if the values have no common
// shape.
absl::StatusOr<Arranged> Combine(NodeConversion& node, const char* op,
                                 const Arranged& a, const Arranged& b);

// y = condition ? a : b, likewise.
absl::StatusOr<Arranged> CombineSelect(NodeConversion& node,
                                       const Arranged& condition,
                                       const Arranged& a, const Arranged& b);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_COMBINE_H_

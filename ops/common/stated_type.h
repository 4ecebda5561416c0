// The type of an op that has no input: attributes `dtype` and `shape`.
#ifndef SPILLWAY_OPS_COMMON_STATED_TYPE_H_
#define SPILLWAY_OPS_COMMON_STATED_TYPE_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

absl::StatusOr<TensorType> StatedType(const Attributes& attributes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_STATED_TYPE_H_

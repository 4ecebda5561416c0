// Types given by attributes: `dtype` and `shape` of an op without inputs, or
// only `dtype` of an op whose output may have another dtype than its inputs.
#ifndef SPILLWAY_OPS_COMMON_STATED_TYPE_H_
#define SPILLWAY_OPS_COMMON_STATED_TYPE_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

absl::StatusOr<TensorType> StatedType(const Attributes& attributes);

// The attribute `dtype`, or `otherwise` if it is missing.
absl::StatusOr<DType> StatedDType(const Attributes& attributes,
                                  DType otherwise);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_STATED_TYPE_H_

// Types that attributes state: `dtype` and `shape` of an op that has no input,
// `dtype` alone of one whose output may differ from its inputs in it.
#ifndef SPILLWAY_OPS_COMMON_STATED_TYPE_H_
#define SPILLWAY_OPS_COMMON_STATED_TYPE_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

absl::StatusOr<TensorType> StatedType(const Attributes& attributes);

// The attribute `dtype`, or `otherwise` where there is none.
absl::StatusOr<DType> StatedDType(const Attributes& attributes,
                                  DType otherwise);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_STATED_TYPE_H_

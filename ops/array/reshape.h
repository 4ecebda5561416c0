// Reshape: the same bytes with another shape of equally many elements.
// Attribute shape: one dimension may be -1 and is then inferred. Any dtype. No
// kernel.
#ifndef SPILLWAY_OPS_ARRAY_RESHAPE_H_
#define SPILLWAY_OPS_ARRAY_RESHAPE_H_

#include "ops/op.h"

namespace spillway::ops {

Op Reshape();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_RESHAPE_H_

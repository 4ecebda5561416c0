// Placeholder: a value that the caller feeds in every step. Attributes: dtype,
// shape. No kernel: the executor copies.
#ifndef SPILLWAY_OPS_ARRAY_PLACEHOLDER_H_
#define SPILLWAY_OPS_ARRAY_PLACEHOLDER_H_

#include "ops/op.h"

namespace spillway::ops {

Op Placeholder();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_PLACEHOLDER_H_

// Variable: bytes that outlive a step. Attributes: dtype, shape, initializer
// (an object, see executor/session/resident_values.h; none: zeros), trainable
// (true), saved (true; false: it keeps its bytes between steps, but is no part
// of a session's state, which checkpoints and checksums have). y is the
// resident buffer itself; no kernel.
#ifndef SPILLWAY_OPS_ARRAY_VARIABLE_H_
#define SPILLWAY_OPS_ARRAY_VARIABLE_H_

#include "ops/op.h"

namespace spillway::ops {

Op Variable();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_VARIABLE_H_

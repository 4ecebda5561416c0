// Const: bytes that never change. Attributes: dtype, shape, and either value (a
// number or bool, fills) or values (a flat list). No kernel.
#ifndef SPILLWAY_OPS_ARRAY_CONSTANT_H_
#define SPILLWAY_OPS_ARRAY_CONSTANT_H_

#include "ops/op.h"

namespace spillway::ops {

Op Const();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_CONSTANT_H_

// Identity: y = x, sharing its bytes. Any type. No kernel.
#ifndef SPILLWAY_OPS_ARRAY_IDENTITY_H_
#define SPILLWAY_OPS_ARRAY_IDENTITY_H_

#include "ops/op.h"

namespace spillway::ops {

Op Identity();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_IDENTITY_H_

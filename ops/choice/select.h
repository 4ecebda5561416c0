// Select: y = a where `condition` holds, else b; element by element. condition:
// bool; a, b: of one dtype, any; all three are repeated as NumPy does
// (ops/common/broadcast_dims.h). y: their common shape; may be written over a
// or b of that shape.
#ifndef SPILLWAY_OPS_CHOICE_SELECT_H_
#define SPILLWAY_OPS_CHOICE_SELECT_H_

#include "ops/op.h"

namespace spillway::ops {

Op Select();

NewKernel SelectCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_CHOICE_SELECT_H_

// AssignAdd(variable, x): variable <- variable + x, in place. x: as variable,
// float32. The output is the updated variable.
#ifndef SPILLWAY_OPS_UPDATE_ASSIGN_ADD_H_
#define SPILLWAY_OPS_UPDATE_ASSIGN_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op AssignAdd();

NewKernel AssignAddCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_UPDATE_ASSIGN_ADD_H_

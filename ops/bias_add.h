// BiasAdd: y = x + bias over the last axis. x: [..., C], two dimensions or
// more, floating; bias: [C]; y: as x, and may be written over it. With the
// attribute activation "relu" (default "none"), y = max(x + bias, 0).
// BiasAddGrad: dbias[c] = sum of dy[..., c]. dy: [..., C]; dbias: [C].
#ifndef SPILLWAY_OPS_BIAS_ADD_H_
#define SPILLWAY_OPS_BIAS_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op BiasAdd();
Op BiasAddGrad();

NewKernel BiasAddCpu(const KernelRequest& node);
NewKernel BiasAddGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_BIAS_ADD_H_

// BiasAdd: y = x + bias over the last axis. x: [..., C], two dimensions or
// more, floating; bias: [C], of x's dtype or float32; y: as x, and may be
// written over it. With the attribute activation "relu" (default "none"),
// y = max(x + bias, 0). BiasAddGrad: dbias[c] = sum of dy[..., c].
// dy: [..., C]; dbias: [C], of the attribute dtype: dy's (default) or float32.
#ifndef SPILLWAY_OPS_POINTWISE_BIAS_ADD_H_
#define SPILLWAY_OPS_POINTWISE_BIAS_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op BiasAdd();
Op BiasAddGrad();

NewKernel BiasAddCpu(const KernelRequest& node);
NewKernel BiasAddGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_BIAS_ADD_H_

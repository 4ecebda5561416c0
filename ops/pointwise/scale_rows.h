// ScaleRows: y[n, ...] = x[n, ...] scale[n]. x: one dimension or more,
// floating; scale: [N], of x's dtype or float32; y: as x, and may be written
// over it. Carries the gradient of a loss per row.
#ifndef SPILLWAY_OPS_POINTWISE_SCALE_ROWS_H_
#define SPILLWAY_OPS_POINTWISE_SCALE_ROWS_H_

#include "ops/op.h"

namespace spillway::ops {

Op ScaleRows();

NewKernel ScaleRowsCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_SCALE_ROWS_H_

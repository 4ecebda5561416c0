// Sum, Mean: over the dimensions `axes` (a list without repeats; negative axes
// count from the end; an empty list reduces nothing). x: any shape, floating.
// y: x without these dimensions, or with size 1 for them if keep_dims (default
// false). SumGrad, MeanGrad: dx from dy, by repeating it; attributes axes,
// keep_dims and input_shape, the shape of x. They need no forward tensor.
//
// Max, Min, Prod: the largest element (NaN if there is one), the smallest, or
// the product, likewise. Equal largest or smallest elements share the gradient.
#ifndef SPILLWAY_OPS_REDUCTION_REDUCE_H_
#define SPILLWAY_OPS_REDUCTION_REDUCE_H_

#include <vector>

#include "graph/attributes.h"
#include "graph/shape.h"
#include "ops/op.h"

namespace spillway::ops {

Op Max();
Op Mean();
Op MeanGrad();
Op Min();
Op Prod();
Op Sum();
Op SumGrad();

NewKernel MaxCpu(const KernelRequest& node);
NewKernel MeanCpu(const KernelRequest& node);
NewKernel MeanGradCpu(const KernelRequest& node);
NewKernel MinCpu(const KernelRequest& node);
NewKernel ProdCpu(const KernelRequest& node);
NewKernel SumCpu(const KernelRequest& node);
NewKernel SumGradCpu(const KernelRequest& node);

// For each dimension of x, whether the attribute `axes` contains it. Errors:
// INVALID_ARGUMENT for an axis that x does not have or that is listed twice.
absl::StatusOr<std::vector<bool>> ReducedAxes(const Attributes& attributes,
                                              const Shape& x);

// Number of elements of x per element of y.
int64_t ReducedElements(const std::vector<bool>& is_reduced, const Shape& x);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_REDUCTION_REDUCE_H_

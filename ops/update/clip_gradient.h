// What clips gradients before an update. All tensors are float32.
#ifndef SPILLWAY_OPS_UPDATE_CLIP_GRADIENT_H_
#define SPILLWAY_OPS_UPDATE_CLIP_GRADIENT_H_

#include "ops/op.h"

namespace spillway::ops {

// SquareSum(x): the sum of the squares of all elements, a scalar. Summed in
// double, in an order that depends on the size of x only; infinite if it is
// more than float32 can hold, and then, or with an element that is not finite,
// not finite.
Op SquareSum();

NewKernel SquareSumCpu(const KernelRequest& node);

// NormFactor(square_sum): min(1, max_norm / (scale sqrt(square_sum))), a
// scalar: what gradients are multiplied by so that their norm, times scale, is
// at most max_norm. NaN for NaN. Attributes: max_norm (positive), scale (1,
// positive).
// Source: Pascanu, Mikolov and Bengio, ICML 2013, algorithm 1.
Op NormFactor();

NewKernel NormFactorCpu(const KernelRequest& node);

// ClipByValue(x): y = x, but at least -limit and at most limit; NaN stays. May
// be written over x. Attribute: limit (positive).
Op ClipByValue();

NewKernel ClipByValueCpu(const KernelRequest& node);

// The attribute, which must be positive in float32.
absl::StatusOr<float> ReadPositive(const Attributes& attributes,
                                   std::string_view name, double fallback);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_UPDATE_CLIP_GRADIENT_H_

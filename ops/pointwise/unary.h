// Functions of one tensor, element by element (ops/common/unary_functions.h):
// y = f(x), x floating, of any shape. Their gradients are ops of the same name
// with "Grad": dx = dy f'(x), from dy and x.
//
//   Abs, Cos, Erf, Exp, HardSwish, Log, Mish, Reciprocal, Silu, Sin, Softplus,
//   Softsign, Sqrt
//   Celu             alpha (1)
//   Clip             min, max (the least and the largest float32)
//   Gelu             approximate (false): by tanh
//   HardSigmoid      alpha (0.2), beta (0.5)
//   LeakyRelu        alpha (0.01)
//   Power            exponent
//   Selu             alpha (1.67326...), gamma (1.05070...)
//   Shrink           lambd (0.5), bias (0)
//   ThresholdedRelu  alpha (1)
//
// Ceil, Floor, Round (halves to even) and Sign have no gradient.
#ifndef SPILLWAY_OPS_POINTWISE_UNARY_H_
#define SPILLWAY_OPS_POINTWISE_UNARY_H_

#include <vector>

#include "ops/common/unary_functions.h"
#include "ops/op.h"

namespace spillway::ops {

// All of them, and their gradients.
std::vector<Op> UnaryOps();

// The attributes of a node, and which function they mean.
struct UnaryOf {
  PointwiseFunction function = PointwiseFunction::kAbs;
  UnaryParameters parameters = {};
};
// `function`: as the op's name says. Errors: INVALID_ARGUMENT for an attribute
// that is missing, of another kind or outside the function's domain.
absl::StatusOr<UnaryOf> ReadUnary(PointwiseFunction function,
                                  const Attributes& attributes);

NewKernel UnaryCpu(PointwiseFunction function, const KernelRequest& node);
NewKernel UnaryGradCpu(PointwiseFunction function, const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_UNARY_H_

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/pointwise/unary.h"

namespace spillway::ops {

NewKernel UnaryCpu(PointwiseFunction function, const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const UnaryOf unary,
                            ReadUnary(function, node.attributes));
  return unary::VisitAny(
      unary.function, [&]<typename Function>(Function) -> NewKernel {
        return UnaryKernel(node, unary::ValueOf<Function>{unary.parameters});
      });
}

}  // namespace spillway::ops

#include "ops/gpu/kernel/elementwise.cuh"
#include "ops/gpu/kernel/unary.h"

namespace spillway::gpu {

LaunchError RunUnary(StreamHandle stream, PointwiseFunction function,
                     UnaryParameters parameters, DType dtype, const void* x,
                     void* y, int64_t n) {
  return unary::VisitAny(function, [&](auto of) -> LaunchError {
    return LaunchMap(stream, unary::ValueOf<decltype(of)>{parameters}, dtype, n,
                     y, x);
  });
}

LaunchError RunUnaryGrad(StreamHandle stream, PointwiseFunction function,
                         UnaryParameters parameters, DType dtype,
                         const void* dy, const void* x, void* dx, int64_t n) {
  return unary::VisitWithSlope(function, [&](auto of) -> LaunchError {
    return LaunchMap(stream, unary::SlopeTimes<decltype(of)>{parameters}, dtype,
                     n, dx, dy, x);
  });
}

}  // namespace spillway::gpu

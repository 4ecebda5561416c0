#include "ops/gpu/kernel/integers.h"
#include "ops/gpu/thread/repeated_places.cuh"

namespace spillway::gpu {
namespace {

template <typename T, typename Fn>
__global__ void IntegerKernel(Fn fn, RepeatedDims dims, const T* a, const T* b,
                              T* y) {
  ForEachItem(dims.n, [&](int64_t i) {
    const RepeatedPlaces<2> places = PlacesOf<2>(dims, i);
    y[i] = fn(a[places.of[0]], b[places.of[1]]);
  });
}

template <typename T, typename Fn>
LaunchError LaunchIntegers(StreamHandle stream, Fn fn, const RepeatedDims& dims,
                           const void* a, const void* b, void* y) {
  return Launch(stream, IntegerKernel<T, Fn>, dim3(BlocksFor(dims.n)),
                dim3(kThreads), fn, dims, static_cast<const T*>(a),
                static_cast<const T*>(b), static_cast<T*>(y));
}

template <typename Fn>
LaunchError WithFunction(integer::Function function, const Fn& launch) {
  switch (function) {
    case integer::Function::kAdd:
      return launch(integer::Sum());
    case integer::Function::kSubtract:
      return launch(integer::Difference());
    case integer::Function::kMultiply:
      return launch(integer::Product());
    case integer::Function::kDivide:
      return launch(integer::Quotient());
  }
  return 0;
}

}  // namespace

LaunchError ComputeIntegers(StreamHandle stream, integer::Function function,
                            DType dtype, const RepeatedDims& dims,
                            const void* a, const void* b, void* y) {
  return WithFunction(function, [&](auto fn) {
    return dtype == DType::kInt64
               ? LaunchIntegers<int64_t>(stream, fn, dims, a, b, y)
               : LaunchIntegers<int32_t>(stream, fn, dims, a, b, y);
  });
}

}  // namespace spillway::gpu

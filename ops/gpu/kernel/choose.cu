#include <type_traits>

#include "ops/gpu/kernel/choose.h"
#include "ops/gpu/thread/repeated_places.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// As it is compared.
template <typename T>
__device__ auto Value(T x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return x;
  } else {
    return Load(x);
  }
}

template <typename T, typename Fn>
__global__ void CompareKernel(Fn fn, RepeatedDims dims, const T* a, const T* b,
                              bool* y) {
  ForEachItem(dims.n, [&](int64_t i) {
    const RepeatedPlaces<2> places = PlacesOf<2>(dims, i);
    y[i] = fn(Value(a[places.of[0]]), Value(b[places.of[1]]));
  });
}

template <typename T>
__global__ void SelectKernel(RepeatedDims dims, const bool* condition,
                             const T* a, const T* b, T* y) {
  ForEachItem(dims.n, [&](int64_t i) {
    const RepeatedPlaces<3> places = PlacesOf<3>(dims, i);
    y[i] = condition[places.of[0]] ? a[places.of[1]] : b[places.of[2]];
  });
}

template <typename Fn>
LaunchError WithTest(choice::Test test, const Fn& launch) {
  switch (test) {
    case choice::Test::kEqual:
      return launch(choice::Equal());
    case choice::Test::kLess:
      return launch(choice::Less());
    case choice::Test::kLessEqual:
      return launch(choice::LessEqual());
    case choice::Test::kAnd:
      return launch(choice::And());
    case choice::Test::kOr:
      return launch(choice::Or());
    case choice::Test::kXor:
      return launch(choice::Xor());
  }
  return 0;
}

template <typename T>
LaunchError LaunchSelect(StreamHandle stream, const RepeatedDims& dims,
                         const bool* condition, const void* a, const void* b,
                         void* y) {
  return Launch(stream, SelectKernel<T>, dim3(BlocksFor(dims.n)),
                dim3(kThreads), dims, condition, static_cast<const T*>(a),
                static_cast<const T*>(b), static_cast<T*>(y));
}

}  // namespace

LaunchError Compare(StreamHandle stream, choice::Test test, DType dtype,
                    const RepeatedDims& dims, const void* a, const void* b,
                    bool* y) {
  return WithTest(test, [&](auto fn) {
    return ForAnyStorage(dtype, [&]<typename T>(T) {
      return Launch(stream, CompareKernel<T, decltype(fn)>,
                    dim3(BlocksFor(dims.n)), dim3(kThreads), fn, dims,
                    static_cast<const T*>(a), static_cast<const T*>(b), y);
    });
  });
}

LaunchError Select(StreamHandle stream, int64_t element_bytes,
                   const RepeatedDims& dims, const bool* condition,
                   const void* a, const void* b, void* y) {
  switch (element_bytes) {
    case 1:
      return LaunchSelect<uint8_t>(stream, dims, condition, a, b, y);
    case 2:
      return LaunchSelect<uint16_t>(stream, dims, condition, a, b, y);
    case 4:
      return LaunchSelect<uint32_t>(stream, dims, condition, a, b, y);
    default:
      return LaunchSelect<uint64_t>(stream, dims, condition, a, b, y);
  }
}

}  // namespace spillway::gpu

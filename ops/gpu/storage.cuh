// The floats that GPU kernels read and write: as ops/cpu/storage.h. Vector is
// several of them, moved with one instruction.
#ifndef SPILLWAY_OPS_GPU_STORAGE_CUH_
#define SPILLWAY_OPS_GPU_STORAGE_CUH_

#include <cstdint>
#include <type_traits>

#include "base/bfloat16.h"
#include "graph/dtype.h"
#include "ops/gpu/launch.cuh"

namespace spillway::gpu {

constexpr float Load(float x) { return x; }
constexpr float Load(BFloat16 x) { return ToFloat(x); }

template <typename T>
constexpr T Store(float x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(x);
  } else {
    static_assert(std::is_same_v<T, float>);
    return x;
  }
}

// 16 bytes of T.
template <typename T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / sizeof(T);
  T items[kSize];
};

// launch(T()), where T holds `dtype`, which is float32 or bfloat16: the host
// has checked it (function_kernel.h).
template <typename Fn>
LaunchError ForStorage(DType dtype, const Fn& launch) {
  return dtype == DType::kBFloat16 ? launch(BFloat16()) : launch(float());
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_STORAGE_CUH_

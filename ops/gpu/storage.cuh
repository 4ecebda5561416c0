// The floats that GPU kernels read and write. Vector is several of them, moved
// with one instruction.
#ifndef SPILLWAY_OPS_GPU_STORAGE_CUH_
#define SPILLWAY_OPS_GPU_STORAGE_CUH_

#include <cstdint>

#include "base/bfloat16.h"
#include "graph/dtype.h"
#include "ops/common/storage.h"
#include "ops/gpu/launch.cuh"

namespace spillway::gpu {

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

// The floats that GPU kernels read and write. A Vector holds several of them
// and is moved with one instruction.
#ifndef SPILLWAY_OPS_GPU_THREAD_STORAGE_CUH_
#define SPILLWAY_OPS_GPU_THREAD_STORAGE_CUH_

#include <cstdint>
#include <type_traits>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "graph/dtype.h"
#include "ops/common/storage.h"
#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {

// 16 bytes of T.
template <typename T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / sizeof(T);
  T items[kSize];
};

// launch(T()), where T holds `dtype`: float32, bfloat16 or float16. The host
// has checked it (CheckGpuStorage).
template <typename Fn>
LaunchError ForStorage(DType dtype, const Fn& launch) {
  switch (dtype) {
    case DType::kBFloat16:
      return launch(BFloat16());
    case DType::kFloat16:
      return launch(Float16());
    default:
      return launch(float());
  }
}

// The same for every dtype.
template <typename Fn>
LaunchError ForAnyStorage(DType dtype, const Fn& launch) {
  switch (dtype) {
    case DType::kInt32:
      return launch(int32_t());
    case DType::kInt64:
      return launch(int64_t());
    case DType::kUInt8:
      return launch(uint8_t());
    case DType::kBool:
      return launch(bool());
    default:
      return ForStorage(dtype, launch);
  }
}

// launch(A(), B()), where A holds `a` and B holds `b`. No op mixes bfloat16 and
// float16, so there is no kernel for the two.
template <typename Fn>
LaunchError ForTwoStorages(DType a, DType b, const Fn& launch) {
  return ForStorage(a, [&]<typename A>(A) {
    return ForStorage(b, [&]<typename B>(B) -> LaunchError {
      if constexpr (std::is_same_v<A, B> || std::is_same_v<A, float> ||
                    std::is_same_v<B, float>) {
        return launch(A(), B());
      } else {
        return 0;
      }
    });
  });
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_STORAGE_CUH_

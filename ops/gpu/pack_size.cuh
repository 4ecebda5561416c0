// How many neighbours a thread moves at once, for CUDA sources: 16 bytes of
// them where the innermost dimension is a multiple of that, else one.
#ifndef SPILLWAY_OPS_GPU_PACK_SIZE_CUH_
#define SPILLWAY_OPS_GPU_PACK_SIZE_CUH_

#include <cstdint>
#include <type_traits>

#include "ops/gpu/storage.cuh"

namespace spillway::gpu {

// Of packs along `inner` elements of `dtype`, the innermost dimension.
inline int PackSize(DType dtype, int64_t inner) {
  const auto size = static_cast<int>(16 / SizeOf(dtype));
  return inner % size == 0 ? size : 1;
}

// launch(T(), std::integral_constant<int, PackSize(dtype, inner)>()), where T
// holds `dtype`.
template <typename Fn>
LaunchError ForPacks(DType dtype, int64_t inner, const Fn& launch) {
  return ForStorage(dtype, [&]<typename T>(T) {
    if (PackSize(dtype, inner) == 1) {
      return launch(T(), std::integral_constant<int, 1>());
    }
    return launch(T(), std::integral_constant<int, Vector<T>::kSize>());
  });
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_PACK_SIZE_CUH_

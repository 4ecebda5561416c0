// How many adjacent elements a thread moves at once, for CUDA sources: 16
// bytes, or `most` elements if that is less, if the innermost dimension is a
// multiple of this number; else one.
#ifndef SPILLWAY_OPS_GPU_THREAD_PACK_SIZE_CUH_
#define SPILLWAY_OPS_GPU_THREAD_PACK_SIZE_CUH_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {

inline constexpr int kMostOfPack = 8;

// Size of packs along `inner` elements of `dtype`, the innermost dimension.
inline int PackSize(DType dtype, int64_t inner, int most = kMostOfPack) {
  const int size = std::min(static_cast<int>(16 / SizeOf(dtype)), most);
  return inner % size == 0 ? size : 1;
}

// launch(T(), std::integral_constant<int, PackSize(dtype, inner, kMost)>()),
// where T holds `dtype`.
template <int kMost = kMostOfPack, typename Fn>
LaunchError ForPacks(DType dtype, int64_t inner, const Fn& launch) {
  return ForStorage(dtype, [&]<typename T>(T) {
    if (PackSize(dtype, inner, kMost) == 1) {
      return launch(T(), std::integral_constant<int, 1>());
    }
    constexpr int kSize = std::min(Vector<T>::kSize, kMost);
    return launch(T(), std::integral_constant<int, kSize>());
  });
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_PACK_SIZE_CUH_

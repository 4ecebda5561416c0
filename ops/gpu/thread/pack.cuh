// Several adjacent elements of a tensor, moved with as few instructions as
// their size allows, for CUDA sources.
#ifndef SPILLWAY_OPS_GPU_THREAD_PACK_CUH_
#define SPILLWAY_OPS_GPU_THREAD_PACK_CUH_

#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {

// kSize is a power of two.
template <typename T, int kSize>
struct alignas(kSize * sizeof(T)) Pack {
  T items[kSize];
};

// The tensor at x as packs; x must be aligned as they are.
template <int kSize, typename T>
__device__ const Pack<T, kSize>* PacksOf(const T* x) {
  return reinterpret_cast<const Pack<T, kSize>*>(x);
}
template <int kSize, typename T>
__device__ Pack<T, kSize>* PacksOf(T* x) {
  return reinterpret_cast<Pack<T, kSize>*>(x);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_PACK_CUH_

// y[i] = fn(x[i], ...) for CUDA sources: 16 bytes of each tensor at a time.
#ifndef SPILLWAY_OPS_GPU_ELEMENTWISE_CUH_
#define SPILLWAY_OPS_GPU_ELEMENTWISE_CUH_

#include <cstdint>
#include <type_traits>

#include "ops/gpu/launch.cuh"
#include "ops/gpu/storage.cuh"

namespace spillway::gpu {

// The tensors are 256-byte aligned. The last elements, too few for a vector,
// are the first threads'.
template <typename T, typename Fn, typename... Inputs>
__global__ void MapKernel(Fn fn, int64_t n, T* y, const Inputs*... inputs) {
  constexpr int kSize = Vector<T>::kSize;
  const int64_t vectors = n / kSize;
  ForEachItem(vectors, [&](int64_t v) {
    Vector<T> result;
    [&](auto... loaded) {
      for (int i = 0; i < kSize; ++i) {
        result.items[i] = Store<T>(fn(Load(loaded.items[i])...));
      }
    }(reinterpret_cast<const Vector<T>*>(inputs)[v]...);
    reinterpret_cast<Vector<T>*>(y)[v] = result;
  });
  ForEachItem(n - vectors * kSize, [&](int64_t i) {
    const int64_t at = vectors * kSize + i;
    y[at] = Store<T>(fn(Load(inputs[at])...));
  });
}

// `inputs`: pointers to n elements of T each.
template <typename T, typename Fn, typename... Inputs>
LaunchError LaunchMapOf(StreamHandle stream, Fn fn, int64_t n, void* y,
                        const Inputs*... inputs) {
  return Launch(stream,
                MapKernel<T, Fn, std::conditional_t<true, T, Inputs>...>,
                dim3(BlocksFor(n, Vector<T>::kSize)), dim3(kThreads), fn, n,
                static_cast<T*>(y), static_cast<const T*>(inputs)...);
}

// The same where T holds `dtype`.
template <typename Fn, typename... Inputs>
LaunchError LaunchMap(StreamHandle stream, Fn fn, DType dtype, int64_t n,
                      void* y, const Inputs*... inputs) {
  return ForStorage(dtype, [&]<typename T>(T) {
    return LaunchMapOf<T>(stream, fn, n, y, inputs...);
  });
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_ELEMENTWISE_CUH_

// y[i] = fn(x[i], ...) for CUDA sources: 16 bytes of each tensor at a time.
#ifndef SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_CUH_
#define SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_CUH_

#include <cstdint>
#include <type_traits>

#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {

// Vectors of each input that a thread loads before it uses the first.
inline constexpr int kVectorsAtOnce = 2;

// The tensors are 256-byte aligned. The first threads also handle the last
// elements, which are too few for a vector. One or two inputs.
template <typename T, typename Fn, typename... Inputs>
__global__ void MapKernel(Fn fn, int64_t n, T* y, const Inputs*... inputs) {
  struct Loaded {
    Vector<T> of[sizeof...(Inputs)];
  };
  constexpr int kSize = Vector<T>::kSize;
  const int64_t vectors = n / kSize;
  const auto load = [&](int64_t v) -> Loaded {
    return {reinterpret_cast<const Vector<T>*>(inputs)[v]...};
  };
  ForEachItem<kVectorsAtOnce>(vectors, load, [&](int64_t v, const Loaded& x) {
    Vector<T> result;
    for (int i = 0; i < kSize; ++i) {
      const float first = Load(x.of[0].items[i]);
      if constexpr (sizeof...(Inputs) == 1) {
        result.items[i] = Store<T>(fn(first));
      } else {
        result.items[i] = Store<T>(fn(first, Load(x.of[1].items[i])));
      }
    }
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
  return Launch(
      stream, MapKernel<T, Fn, std::conditional_t<true, T, Inputs>...>,
      dim3(BlocksFor(n, kVectorsAtOnce * Vector<T>::kSize)), dim3(kThreads), fn,
      n, static_cast<T*>(y), static_cast<const T*>(inputs)...);
}

// The same, where T holds `dtype`.
template <typename Fn, typename... Inputs>
LaunchError LaunchMap(StreamHandle stream, Fn fn, DType dtype, int64_t n,
                      void* y, const Inputs*... inputs) {
  return ForStorage(dtype, [&]<typename T>(T) {
    return LaunchMapOf<T>(stream, fn, n, y, inputs...);
  });
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_CUH_

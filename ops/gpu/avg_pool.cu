#include "ops/gpu/pool.cuh"
#include "ops/gpu/pool.h"

namespace spillway::gpu {
namespace {

// What a window's sum, or its gradient, is multiplied by.
__device__ float Share(const Pool& pool, const Box& window) {
  const int64_t taps = pool.counts_padding ? pool.planes.size * pool.rows.size *
                                                 pool.columns.size
                                           : window.size();
  return 1 / static_cast<float>(taps);
}

template <int kCount, typename T>
__global__ void AvgPoolKernel(Pool pool, const T* x, T* y) {
  const Inputs inputs(pool, kCount);
  const Outputs outputs(pool, kCount);
  ForEachItem(outputs.size(pool.batch), [&](int64_t i) {
    const Pixel at = outputs.PixelAt(i);
    const Box window = WindowOf(pool, at);
    float sum[kCount] = {};
    ForEachPixel(window, at, [&](const Pixel& pixel) {
      const auto pack = PacksOf<kCount>(x)[inputs.At(pixel)];
      for (int k = 0; k < kCount; ++k) sum[k] += Load(pack.items[k]);
    });
    const float share = Share(pool, window);
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = Store<T>(share * sum[k]);
    }
    PacksOf<kCount>(y)[i] = result;
  });
}

template <int kCount, typename T>
__global__ void AvgPoolGradKernel(Pool pool, const T* dy, T* dx) {
  const Inputs inputs(pool, kCount);
  const Outputs outputs(pool, kCount);
  ForEachItem(inputs.size(pool.batch), [&](int64_t i) {
    const Pixel at = inputs.PixelAt(i);
    float sum[kCount] = {};
    ForEachPixel(WindowsOver(pool, at), at, [&](const Pixel& window) {
      const float share = Share(pool, WindowOf(pool, window));
      const auto pack = PacksOf<kCount>(dy)[outputs.At(window)];
      for (int k = 0; k < kCount; ++k) sum[k] += share * Load(pack.items[k]);
    });
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) result.items[k] = Store<T>(sum[k]);
    PacksOf<kCount>(dx)[i] = result;
  });
}

}  // namespace

LaunchError AvgPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    return LaunchOver(Outputs(pool, Count::value), stream,
                      AvgPoolKernel<Count::value, T>, pool,
                      static_cast<const T*>(x), static_cast<T*>(y));
  });
}

LaunchError AvgPoolGrad(StreamHandle stream, const Pool& pool, const void* dy,
                        void* dx) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    return LaunchOver(Inputs(pool, Count::value), stream,
                      AvgPoolGradKernel<Count::value, T>, pool,
                      static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace spillway::gpu

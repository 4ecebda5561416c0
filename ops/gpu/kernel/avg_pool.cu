#include "ops/gpu/kernel/pool.cuh"
#include "ops/gpu/kernel/pool.h"

namespace spillway::gpu {
namespace {

// The factor for a window's sum, or for its gradient.
__device__ float Share(const Windows& windows, const Box& window) {
  const int taps =
      windows.counts_padding
          ? windows.planes.size * windows.rows.size * windows.columns.size
          : window.size();
  return 1 / static_cast<float>(taps);
}

template <int kCount, typename T>
__global__ void AvgPoolKernel(Windows windows, const T* x, T* y) {
  ForEachItem(windows.outputs, [&](int64_t i) {
    const Pixel at = Outputs::PixelAt(windows, i);
    const Box window = WindowOf(windows, at);
    float sum[kCount] = {};
    ForEachPixel<Inputs>(
        windows, window, at,
        [&](int64_t pixel) { return PacksOf<kCount>(x)[pixel]; },
        [&](const Pixel& /*pixel*/, const Pack<T, kCount>& pack) {
          for (int k = 0; k < kCount; ++k) sum[k] += Load(pack.items[k]);
        });
    const float share = Share(windows, window);
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = Store<T>(share * sum[k]);
    }
    PacksOf<kCount>(y)[i] = result;
  });
}

template <int kCount, typename T>
__global__ void AvgPoolGradKernel(Windows windows, const T* dy, T* dx) {
  ForEachItem(windows.inputs, [&](int64_t i) {
    const Pixel at = Inputs::PixelAt(windows, i);
    float sum[kCount] = {};
    ForEachPixel<Outputs>(
        windows, WindowsOver(windows, at), at,
        [&](int64_t window) { return PacksOf<kCount>(dy)[window]; },
        [&](const Pixel& window, const Pack<T, kCount>& pack) {
          const float share = Share(windows, WindowOf(windows, window));
          for (int k = 0; k < kCount; ++k) {
            sum[k] += share * Load(pack.items[k]);
          }
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
    const Windows windows(pool, Count::value);
    return LaunchOver(windows.outputs, stream, AvgPoolKernel<Count::value, T>,
                      windows, static_cast<const T*>(x), static_cast<T*>(y));
  });
}

LaunchError AvgPoolGrad(StreamHandle stream, const Pool& pool, const void* dy,
                        void* dx) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    const Windows windows(pool, Count::value);
    return LaunchOver(windows.inputs, stream,
                      AvgPoolGradKernel<Count::value, T>, windows,
                      static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace spillway::gpu

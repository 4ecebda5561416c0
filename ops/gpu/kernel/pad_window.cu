#include "ops/gpu/kernel/pad_window.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// Adjacent channels that one thread copies.
template <typename T, int kSize>
struct alignas(kSize * sizeof(T)) Channels {
  T items[kSize];
};

// The divisors for y's indices. `channels` counts Channels<>.
struct Sizes {
  Divisor channels;
  Divisor to[3];
};

template <typename From, typename To, int kSize>
__global__ void PadKernel(PadWindow window, Sizes sizes, int64_t n,
                          const Channels<From, kSize>* x,
                          Channels<To, kSize>* y) {
  ForEachItem(n, [&](int64_t i) {
    int64_t pixel = i;
    const int64_t channel = sizes.channels.Split(pixel);
    int64_t at[3];
    bool inside = true;
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = sizes.to[axis].Split(pixel) - window.before[axis];
      inside = inside && at[axis] >= 0 && at[axis] < window.from[axis];
    }
    int64_t from = pixel;  // the image
    for (int axis = 0; axis < 3; ++axis)
      from = from * window.from[axis] + at[axis];
    Channels<To, kSize> copy;
    if (inside) {
      const Channels<From, kSize> loaded =
          x[from * sizes.channels.n() + channel];
      for (int c = 0; c < kSize; ++c) {
        copy.items[c] = Store<To>(Load(loaded.items[c]));
      }
    } else {
      for (int c = 0; c < kSize; ++c) copy.items[c] = Store<To>(0.0F);
    }
    y[i] = copy;
  });
}

template <typename From, typename To, int kSize>
LaunchError LaunchPad(StreamHandle stream, const PadWindow& window,
                      const void* x, void* y) {
  const Sizes sizes = {.channels = Divisor(window.channels / kSize),
                       .to = {Divisor(window.to[0]), Divisor(window.to[1]),
                              Divisor(window.to[2])}};
  const int64_t n = window.batch * window.to[0] * window.to[1] * window.to[2] *
                    sizes.channels.n();
  return Launch(stream, PadKernel<From, To, kSize>, dim3(BlocksFor(n)),
                dim3(kThreads), window, sizes, n,
                static_cast<const Channels<From, kSize>*>(x),
                static_cast<Channels<To, kSize>*>(y));
}

}  // namespace

LaunchError Pad(StreamHandle stream, const PadWindow& window, DType x_dtype,
                const void* x, DType y_dtype, void* y) {
  return ForTwoStorages(
      x_dtype, y_dtype, [&]<typename From, typename To>(From, To) {
        constexpr int kSize = Vector<From>::kSize < Vector<To>::kSize
                                  ? Vector<From>::kSize
                                  : Vector<To>::kSize;
        return window.channels % kSize == 0
                   ? LaunchPad<From, To, kSize>(stream, window, x, y)
                   : LaunchPad<From, To, 1>(stream, window, x, y);
      });
}

}  // namespace spillway::gpu

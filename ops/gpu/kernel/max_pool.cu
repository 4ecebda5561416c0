#include "ops/gpu/kernel/pool.cuh"
#include "ops/gpu/kernel/pool.h"

namespace spillway::gpu {
namespace {

// Indices of pixels of x, row-major: in the whole image, or from the origin of
// a window, including its padding.
class Numbers {
 public:
  __device__ static Numbers InImage(const Windows& windows) {
    return {windows.rows.input * windows.columns.input, windows.columns.input,
            0};
  }
  __device__ static Numbers InWindow(const Windows& windows, const Pixel& y) {
    Numbers numbers = {windows.rows.size * windows.columns.size,
                       windows.columns.size, 0};
    numbers.first_ = numbers.plane_ * Origin(windows.planes, y.plane) +
                     numbers.row_ * Origin(windows.rows, y.row) +
                     Origin(windows.columns, y.column);
    return numbers;
  }

  __device__ int operator()(const Pixel& x) const {
    return plane_ * x.plane + row_ * x.row + x.column - first_;
  }

 private:
  __device__ Numbers(int plane, int row, int first)
      : plane_(plane), row_(row), first_(first) {}

  int plane_;
  int row_;
  int first_;
};

// The largest elements of a window and the indices of their pixels; ties go to
// the first. A NaN counts as small unless it comes first.
template <int kCount>
struct Maxima {
  float values[kCount];
  int numbers[kCount];
};

template <int kCount, typename T>
__device__ Maxima<kCount> FindMaxima(const Windows& windows, const Pixel& y,
                                     const Numbers& numbers, const T* x) {
  Maxima<kCount> most;
  bool is_first = true;
  ForEachPixel<Inputs>(
      windows, WindowOf(windows, y), y,
      [&](int64_t pixel) { return PacksOf<kCount>(x)[pixel]; },
      [&](const Pixel& pixel, const Pack<T, kCount>& pack) {
        for (int k = 0; k < kCount; ++k) {
          const float value = Load(pack.items[k]);
          if (is_first || value > most.values[k]) {
            most.values[k] = value;
            most.numbers[k] = numbers(pixel);
          }
        }
        is_first = false;
      });
  return most;
}

template <int kCount, bool kSavesPlaces, typename T>
__global__ void MaxPoolKernel(Windows windows, const T* x, T* y,
                              uint8_t* places) {
  ForEachItem(windows.outputs, [&](int64_t i) {
    const Pixel window = Outputs::PixelAt(windows, i);
    const auto most = FindMaxima<kCount>(windows, window,
                                         Numbers::InWindow(windows, window), x);
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = Store<T>(most.values[k]);
    }
    PacksOf<kCount>(y)[i] = result;
    if constexpr (kSavesPlaces) {
      Pack<uint8_t, kCount> numbers;
      for (int k = 0; k < kCount; ++k) {
        numbers.items[k] = static_cast<uint8_t>(most.numbers[k]);
      }
      PacksOf<kCount>(places)[i] = numbers;
    }
  });
}

// Elements of the input from the beginning of window `o` to that of the next;
// the first and the last window also have the elements at the ends. Windows are
// disjoint.
__device__ Range Cell(const Dim& dim, int o) {
  const int begin = Origin(dim, o);
  return {o == 0 ? 0 : begin,
          o + 1 == dim.output ? dim.input : begin + dim.stride};
}

__device__ Box CellOf(const Windows& windows, const Pixel& y) {
  return {Cell(windows.planes, y.plane), Cell(windows.rows, y.row),
          Cell(windows.columns, y.column)};
}

// Windows are disjoint. A thread reads a window's x before it writes the
// window's part of dx, and no other thread reads it: dx may be x.
template <int kCount, typename T>
__global__ void DisjointMaxPoolGrad(Windows windows, const T* x, const T* dy,
                                    T* dx) {
  ForEachItem(windows.outputs, [&](int64_t i) {
    const Pixel window = Outputs::PixelAt(windows, i);
    const Numbers numbers = Numbers::InImage(windows);
    const auto most = FindMaxima<kCount>(windows, window, numbers, x);
    const auto pack = PacksOf<kCount>(dy)[i];
    ForEachPixel<Inputs>(
        windows, CellOf(windows, window), window, [](int64_t at) { return at; },
        [&](const Pixel& pixel, int64_t at) {
          Pack<T, kCount> result = {};
          for (int k = 0; k < kCount; ++k) {
            if (most.numbers[k] == numbers(pixel)) {
              result.items[k] = pack.items[k];
            }
          }
          PacksOf<kCount>(dx)[at] = result;
        });
  });
}

// The index of each window's maximum, within the window.
template <int kCount, typename Number, typename T>
__global__ void NumberMaxima(Windows windows, const T* x, Number* maxima) {
  ForEachItem(windows.outputs, [&](int64_t i) {
    const Pixel window = Outputs::PixelAt(windows, i);
    const auto most = FindMaxima<kCount>(windows, window,
                                         Numbers::InWindow(windows, window), x);
    Pack<Number, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = static_cast<Number>(most.numbers[k]);
    }
    PacksOf<kCount>(maxima)[i] = result;
  });
}

// An element of dx gets the gradients of those windows over it whose maximum it
// is. (Windows may also be disjoint.)
template <int kCount, typename Number, typename T>
__global__ void GatherMaxPoolGrad(Windows windows, const Number* maxima,
                                  const T* dy, T* dx) {
  struct Window {
    Pack<T, kCount> dy;
    Pack<Number, kCount> maxima;
  };
  ForEachItem(windows.inputs, [&](int64_t i) {
    const Pixel pixel = Inputs::PixelAt(windows, i);
    float sum[kCount] = {};
    ForEachPixel<Outputs>(
        windows, WindowsOver(windows, pixel), pixel,
        [&](int64_t window) -> Window {
          return {PacksOf<kCount>(dy)[window], PacksOf<kCount>(maxima)[window]};
        },
        [&](const Pixel& y, const Window& window) {
          const int number = Numbers::InWindow(windows, y)(pixel);
          for (int k = 0; k < kCount; ++k) {
            if (window.maxima.items[k] == number) {
              sum[k] += Load(window.dy.items[k]);
            }
          }
        });
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) result.items[k] = Store<T>(sum[k]);
    PacksOf<kCount>(dx)[i] = result;
  });
}

bool AreDisjoint(const Pool& pool) {
  return pool.planes.stride >= pool.planes.size &&
         pool.rows.stride >= pool.rows.size &&
         pool.columns.stride >= pool.columns.size;
}

// launch(Number()), for the shortest type that can index a window's elements.
template <typename Fn>
auto ForNumbers(const Pool& pool, const Fn& launch) {
  const int64_t taps =
      int64_t{pool.planes.size} * pool.rows.size * pool.columns.size;
  return taps <= 256 ? launch(uint8_t()) : launch(int32_t());
}

}  // namespace

LaunchError MaxPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y, uint8_t* places) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    constexpr int kCount = Count::value;
    const Windows windows(pool, kCount);
    const auto launch = [&](auto kernel) {
      return LaunchOver(windows.outputs, stream, kernel, windows,
                        static_cast<const T*>(x), static_cast<T*>(y), places);
    };
    return places != nullptr ? launch(MaxPoolKernel<kCount, true, T>)
                             : launch(MaxPoolKernel<kCount, false, T>);
  });
}

int64_t MaxPoolGradWorkspaceBytes(const Pool& pool) {
  if (AreDisjoint(pool)) return 0;
  const int64_t elements = Windows(pool, 1).outputs;
  return ForNumbers(pool, [&]<typename Number>(Number) {
    return elements * static_cast<int64_t>(sizeof(Number));
  });
}

LaunchError MaxPoolGrad(StreamHandle stream, const Pool& pool,
                        const MaxPoolGradTensors& tensors) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    constexpr int kCount = Count::value;
    const Windows windows(pool, kCount);
    const auto* x = static_cast<const T*>(tensors.x);
    const auto* dy = static_cast<const T*>(tensors.dy);
    auto* dx = static_cast<T*>(tensors.dx);
    if (tensors.places != nullptr) {
      return LaunchOver(windows.inputs, stream,
                        GatherMaxPoolGrad<kCount, uint8_t, T>, windows,
                        tensors.places, dy, dx);
    }
    if (AreDisjoint(pool)) {
      return LaunchOver(windows.outputs, stream, DisjointMaxPoolGrad<kCount, T>,
                        windows, x, dy, dx);
    }
    return ForNumbers(pool, [&]<typename Number>(Number) {
      auto* maxima = static_cast<Number*>(tensors.workspace);
      const LaunchError error =
          LaunchOver(windows.outputs, stream, NumberMaxima<kCount, Number, T>,
                     windows, x, maxima);
      if (error != 0) return error;
      return LaunchOver(windows.inputs, stream,
                        GatherMaxPoolGrad<kCount, Number, T>, windows,
                        static_cast<const Number*>(maxima), dy, dx);
    });
  });
}

}  // namespace spillway::gpu

#include <array>

#include "base/random.h"
#include "ops/gpu/dropout.h"
#include "ops/gpu/storage.cuh"

namespace spillway::gpu {
namespace {

template <typename T>
__device__ T Drop(const Dropout& dropout, uint32_t word, T x) {
  const bool kept = static_cast<int32_t>(word >> 8) >= dropout.threshold;
  return Store<T>(kept ? Load(x) * dropout.scale : 0.0F);
}

// A vector is one or two blocks of the generator. The last elements, too few
// for a vector, are the first threads'.
template <typename T>
__global__ void DropoutKernel(Dropout dropout, int64_t n, const T* x, T* y) {
  constexpr int kSize = Vector<T>::kSize;
  constexpr int kBlocks = kSize / 4;
  const int64_t vectors = n / kSize;
  ForEachItem(vectors, [&](int64_t v) {
    Vector<T> vector = reinterpret_cast<const Vector<T>*>(x)[v];
    for (int block = 0; block < kBlocks; ++block) {
      const std::array<uint32_t, 4> words =
          Philox4x32(dropout.key, static_cast<uint64_t>(v * kBlocks + block));
      for (int i = 0; i < 4; ++i) {
        T& item = vector.items[4 * block + i];
        item = Drop(dropout, words[static_cast<size_t>(i)], item);
      }
    }
    reinterpret_cast<Vector<T>*>(y)[v] = vector;
  });
  ForEachItem(n - vectors * kSize, [&](int64_t i) {
    const int64_t at = vectors * kSize + i;
    const std::array<uint32_t, 4> words =
        Philox4x32(dropout.key, static_cast<uint64_t>(at / 4));
    y[at] = Drop(dropout, words[static_cast<size_t>(at % 4)], x[at]);
  });
}

}  // namespace

LaunchError RunDropout(StreamHandle stream, const Dropout& dropout, DType dtype,
                       const void* x, void* y, int64_t n) {
  return ForStorage(dtype, [&]<typename T>(T) {
    return Launch(stream, DropoutKernel<T>,
                  dim3(BlocksFor(n, Vector<T>::kSize)), dim3(kThreads), dropout,
                  n, static_cast<const T*>(x), static_cast<T*>(y));
  });
}

}  // namespace spillway::gpu

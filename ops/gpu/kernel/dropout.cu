#include <array>

#include "base/random.h"
#include "ops/gpu/kernel/dropout.h"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// Runs in one thread. The step number crosses the link as a direct read: a copy
// would wait behind the swap-ins in flight.
__global__ void MixStepKernel(uint64_t layer_key, const int64_t* step,
                              uint64_t* key) {
  *key = MixKeys(layer_key, static_cast<uint64_t>(*step));
}

template <typename T>
__device__ T Drop(const Dropout& dropout, uint32_t word, T x) {
  const bool kept = static_cast<int32_t>(word >> 8) >= dropout.threshold;
  return Store<T>(kept ? Load(x) * dropout.scale : 0.0F);
}

// A vector is one or two blocks of the generator. The first threads also handle
// the last elements, which are too few for a vector.
template <typename T>
__global__ void DropoutKernel(Dropout dropout, const uint64_t* mask_key,
                              int64_t n, const T* x, T* y) {
  const uint64_t key = *mask_key;
  constexpr int kSize = Vector<T>::kSize;
  constexpr int kBlocks = kSize / 4;
  const int64_t vectors = n / kSize;
  ForEachItem(vectors, [&](int64_t v) {
    Vector<T> vector = reinterpret_cast<const Vector<T>*>(x)[v];
    for (int block = 0; block < kBlocks; ++block) {
      const std::array<uint32_t, 4> words =
          Philox4x32(key, static_cast<uint64_t>(v * kBlocks + block));
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
        Philox4x32(key, static_cast<uint64_t>(at / 4));
    y[at] = Drop(dropout, words[static_cast<size_t>(at % 4)], x[at]);
  });
}

}  // namespace

LaunchError RunDropout(StreamHandle stream, const Dropout& dropout, DType dtype,
                       const DropoutTensors& tensors, int64_t n) {
  const LaunchError mixed =
      Launch(stream, MixStepKernel, dim3(1), dim3(1), dropout.layer_key,
             tensors.step, tensors.key);
  if (mixed != 0) return mixed;
  return ForStorage(dtype, [&]<typename T>(T) {
    return Launch(stream, DropoutKernel<T>,
                  dim3(BlocksFor(n, Vector<T>::kSize)), dim3(kThreads), dropout,
                  static_cast<const uint64_t*>(tensors.key), n,
                  static_cast<const T*>(tensors.x), static_cast<T*>(tensors.y));
  });
}

}  // namespace spillway::gpu

#include "ops/gpu/kernel/add_n.h"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// The first threads also handle the last elements, which are too few for a
// vector.
template <typename T>
__global__ void AddNKernel(Terms terms, int64_t n, T* y) {
  constexpr int kSize = Vector<T>::kSize;
  const int64_t vectors = n / kSize;
  ForEachItem(vectors, [&](int64_t v) {
    float sum[kSize] = {};
    ForEachLoaded<2>(
        0, terms.count, 1,
        [&](int k) { return static_cast<const Vector<T>*>(terms.x[k])[v]; },
        [&](int /*k*/, const Vector<T>& x) {
          for (int i = 0; i < kSize; ++i) sum[i] += Load(x.items[i]);
        });
    Vector<T> result;
    for (int i = 0; i < kSize; ++i) result.items[i] = Store<T>(sum[i]);
    reinterpret_cast<Vector<T>*>(y)[v] = result;
  });
  ForEachItem(n - vectors * kSize, [&](int64_t i) {
    const int64_t at = vectors * kSize + i;
    float sum = 0;
    for (int k = 0; k < terms.count; ++k) {
      sum += Load(static_cast<const T*>(terms.x[k])[at]);
    }
    y[at] = Store<T>(sum);
  });
}

}  // namespace

LaunchError AddN(StreamHandle stream, DType dtype, const Terms& terms, void* y,
                 int64_t n) {
  return ForStorage(dtype, [&]<typename T>(T) {
    return Launch(stream, AddNKernel<T>, dim3(BlocksFor(n, Vector<T>::kSize)),
                  dim3(kThreads), terms, n, static_cast<T*>(y));
  });
}

}  // namespace spillway::gpu

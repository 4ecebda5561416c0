#include "ops/gpu/kernel/gather.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {
namespace {

__device__ int64_t IndexAt(const GatherRows& rows, const void* indices,
                           int64_t i) {
  return rows.has_long_indices ? static_cast<const int64_t*>(indices)[i]
                               : static_cast<const int32_t*>(indices)[i];
}

__device__ bool IsRow(const GatherRows& rows, int64_t index) {
  return index >= 0 && index < rows.n;
}

// Adjacent threads write adjacent elements.
template <typename T>
__global__ void GatherKernel(GatherRows rows, const T* x, const void* indices,
                             T* y) {
  const int64_t n = rows.outer * rows.count * rows.inner;
  ForEachItem(n, [&](int64_t i) {
    const int64_t row = Divide(i, rows.inner);
    const int64_t outer = Divide(row, rows.count);
    const int64_t index = IndexAt(rows, indices, row - outer * rows.count);
    const int64_t column = i - row * rows.inner;
    y[i] = IsRow(rows, index)
               ? x[(outer * rows.n + index) * rows.inner + column]
               : T(0);
  });
}

// A thread has one column of a table and goes through all indices, so that the
// order of each sum is fixed.
__global__ void GatherGradKernel(GatherRows rows, const float* dy,
                                 const void* indices, float* dx) {
  ForEachItem(rows.outer * rows.inner, [&](int64_t i) {
    const int64_t outer = Divide(i, rows.inner);
    const int64_t column = i - outer * rows.inner;
    float* table = dx + outer * rows.n * rows.inner + column;
    const float* from = dy + outer * rows.count * rows.inner + column;
    for (int64_t row = 0; row < rows.n; ++row) table[row * rows.inner] = 0;
    for (int64_t k = 0; k < rows.count; ++k) {
      const int64_t index = IndexAt(rows, indices, k);
      if (IsRow(rows, index)) {
        table[index * rows.inner] += from[k * rows.inner];
      }
    }
  });
}

template <typename T>
LaunchError LaunchGather(StreamHandle stream, const GatherRows& rows,
                         const void* x, const void* indices, void* y) {
  const int64_t n = rows.outer * rows.count * rows.inner;
  return Launch(stream, GatherKernel<T>, dim3(BlocksFor(n)), dim3(kThreads),
                rows, static_cast<const T*>(x), indices, static_cast<T*>(y));
}

}  // namespace

LaunchError RunGather(StreamHandle stream, const GatherRows& rows,
                      int64_t element_bytes, const void* x, const void* indices,
                      void* y) {
  switch (element_bytes) {
    case 1:
      return LaunchGather<uint8_t>(stream, rows, x, indices, y);
    case 2:
      return LaunchGather<uint16_t>(stream, rows, x, indices, y);
    case 4:
      return LaunchGather<uint32_t>(stream, rows, x, indices, y);
    default:
      return LaunchGather<uint64_t>(stream, rows, x, indices, y);
  }
}

LaunchError RunGatherGrad(StreamHandle stream, const GatherRows& rows,
                          const void* dy, const void* indices, void* dx) {
  return Launch(stream, GatherGradKernel,
                dim3(BlocksFor(rows.outer * rows.inner)), dim3(kThreads), rows,
                static_cast<const float*>(dy), indices,
                static_cast<float*>(dx));
}

}  // namespace spillway::gpu

// Copies of images, channels last, that add or remove pixels around them:
// needed for cuDNN if a convolution's padding differs between the two ends of a
// dimension. The copy may have another dtype.
#ifndef SPILLWAY_OPS_GPU_KERNEL_PAD_WINDOW_H_
#define SPILLWAY_OPS_GPU_KERNEL_PAD_WINDOW_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// y[n, i, j, k, c] = x[n, i - before[0], j - before[1], k - before[2], c], or 0
// where that is outside x. Missing dimensions have size 1.
struct PadWindow {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t from[3] = {1, 1, 1};    // pixels of x
  int64_t to[3] = {1, 1, 1};      // pixels of y
  int64_t before[3] = {0, 0, 0};  // below 0: removed
};

// x and y are 256-byte aligned; each dtype is float32 or the same shorter one.
LaunchError Pad(StreamHandle stream, const PadWindow& window, DType x_dtype,
                const void* x, DType y_dtype, void* y);

// y[i] = x[i], for n elements.
inline LaunchError Convert(StreamHandle stream, int64_t n, DType x_dtype,
                           const void* x, DType y_dtype, void* y) {
  return Pad(stream, {.channels = n}, x_dtype, x, y_dtype, y);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_PAD_WINDOW_H_

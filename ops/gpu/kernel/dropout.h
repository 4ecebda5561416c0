// Dropout on the GPU: the formulas of ops/pointwise/dropout.h, bitwise
// identical to the CPU's.
#ifndef SPILLWAY_OPS_GPU_KERNEL_DROPOUT_H_
#define SPILLWAY_OPS_GPU_KERNEL_DROPOUT_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct Dropout {
  uint64_t layer_key = 0;  // of session and layer
  int32_t threshold = 0;   // kept from here on, in units of UniformFloat, 2^-24
  float scale = 1;         // of kept elements
};

struct DropoutTensors {
  const int64_t* step = nullptr;  // host memory that the GPU can read
  uint64_t* key = nullptr;        // workspace: the mask's, of layer and step
  const void* x = nullptr;
  void* y = nullptr;  // may be x
};

// x, y: n elements of `dtype`, float32 or shorter.
LaunchError RunDropout(StreamHandle stream, const Dropout& dropout, DType dtype,
                       const DropoutTensors& tensors, int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_DROPOUT_H_

// Softmax over rows, its gradient, and the cross entropy with one label per
// row, on the GPU. Tensors are [rows, classes] of `dtype`, float32 or shorter;
// an output may be any input of its type.
#ifndef SPILLWAY_OPS_GPU_KERNEL_SOFTMAX_H_
#define SPILLWAY_OPS_GPU_KERNEL_SOFTMAX_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct Rows {
  DType dtype = DType::kFloat32;
  int64_t rows = 1;
  int64_t classes = 1;
};

LaunchError Softmax(StreamHandle stream, const Rows& size, const void* x,
                    void* y);

LaunchError SoftmaxGrad(StreamHandle stream, const Rows& size, const void* dy,
                        const void* y, void* dx);

struct CrossEntropyTensors {
  const void* logits = nullptr;
  const int32_t* labels = nullptr;  // [rows]
  float* loss = nullptr;            // [rows]
  void* backprop = nullptr;
};

// A row whose label is not in [0, classes) gets a loss and a backprop of NaN:
// the host cannot check labels that the graph computes.
LaunchError CrossEntropy(StreamHandle stream, const Rows& size,
                         const CrossEntropyTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_SOFTMAX_H_

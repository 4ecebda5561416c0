// From predictions to classes on the GPU, by the rules of ops/loss/classify.h.
// Predictions have `dtype`, float32 or shorter.
#ifndef SPILLWAY_OPS_GPU_KERNEL_CLASSIFY_H_
#define SPILLWAY_OPS_GPU_KERNEL_CLASSIFY_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// x: [outer, n, inner]; y: int32 [outer, inner].
struct ArgMax {
  DType dtype = DType::kFloat32;
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
};
LaunchError RunArgMax(StreamHandle stream, const ArgMax& arg_max, const void* x,
                      void* y);

// predictions: [rows, classes]; labels: int32 [rows]; y: bool [rows].
struct InTopK {
  DType dtype = DType::kFloat32;
  int64_t rows = 1;
  int64_t classes = 1;
  int64_t k = 1;
};
LaunchError RunInTopK(StreamHandle stream, const InTopK& in_top_k,
                      const void* predictions, const void* labels, void* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_CLASSIFY_H_

// y[o, i] = the largest, the smallest or the product over r of x[o, r, i], on
// the GPU.
#ifndef SPILLWAY_OPS_GPU_KERNEL_FOLD_H_
#define SPILLWAY_OPS_GPU_KERNEL_FOLD_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

enum class FoldFunction { kMax, kMin, kProd };

struct Fold {
  FoldFunction function = FoldFunction::kMax;
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  DType x_dtype = DType::kFloat32;  // each float32 or the same shorter one
  DType y_dtype = DType::kFloat32;
};

// y does not overlap x.
LaunchError RunFold(StreamHandle stream, const Fold& fold, const void* x,
                    void* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_FOLD_H_

// The ops of ops/update/clip_gradient.h on the GPU, in float32.
#ifndef SPILLWAY_OPS_GPU_KERNEL_CLIP_GRADIENT_H_
#define SPILLWAY_OPS_GPU_KERNEL_CLIP_GRADIENT_H_

#include <cstdint>

#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// At most a few KiB.
int64_t SumSquaresWorkspaceBytes(int64_t n);
// *y <- the sum of the squares of n elements. The tensor is cut into parts
// whose number depends on n only; one block sums a part, and another the parts,
// always in the same order.
LaunchError SumSquares(StreamHandle stream, const float* x, int64_t n,
                       double* workspace, float* y);

LaunchError NormFactor(StreamHandle stream, float max_norm, float scale,
                       const float* square_sum, float* y);

// y may be x.
LaunchError ClipByValue(StreamHandle stream, float limit, int64_t n,
                        const float* x, float* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_CLIP_GRADIENT_H_

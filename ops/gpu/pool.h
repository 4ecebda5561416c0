// Pools over images with channels last, and their gradients, on the GPU: the
// formulas of ops/max_pool.h and ops/avg_pool.h. Gradients gather: each element
// of dx is written once, by one thread.
#ifndef SPILLWAY_OPS_GPU_POOL_H_
#define SPILLWAY_OPS_GPU_POOL_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/launch.h"

namespace spillway::gpu {

// One spatial dimension, as WindowDim of ops/common/window.h.
struct PoolDim {
  int64_t input = 1;
  int64_t output = 1;
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad_before = 0;
};

// With two spatial dimensions there is one plane.
struct Pool {
  DType dtype = DType::kFloat32;
  int64_t batch = 1;
  int64_t channels = 1;
  PoolDim planes = {};
  PoolDim rows = {};
  PoolDim columns = {};
  bool counts_padding = false;  // AvgPool
};

LaunchError MaxPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y);
LaunchError AvgPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y);
// Where windows do not overlap, dx may be x.
LaunchError MaxPoolGrad(StreamHandle stream, const Pool& pool, const void* x,
                        const void* dy, void* dx);
LaunchError AvgPoolGrad(StreamHandle stream, const Pool& pool, const void* dy,
                        void* dx);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_POOL_H_

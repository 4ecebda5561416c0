// Pools over images with channels last, and their gradients, on the GPU: the
// formulas of ops/reduction/pool.h. Gradients gather: each element of dx is
// written once, by one thread.
#ifndef SPILLWAY_OPS_GPU_KERNEL_POOL_H_
#define SPILLWAY_OPS_GPU_KERNEL_POOL_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// One spatial dimension, as WindowDim of ops/common/window.h.
struct PoolDim {
  int input = 1;
  int output = 1;
  int size = 1;
  int stride = 1;
  int pad_before = 0;
};

// With two spatial dimensions there is one plane. An image has fewer than 2^31
// pixels, including its padding.
struct Pool {
  DType dtype = DType::kFloat32;
  int64_t batch = 1;
  int64_t channels = 1;
  PoolDim planes = {};
  PoolDim rows = {};
  PoolDim columns = {};
  bool counts_padding = false;  // AvgPool
};

// `places` may be null; else a window has at most 256 elements.
LaunchError MaxPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y, uint8_t* places);
LaunchError AvgPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y);

// Reads either x or the places of the maxima; the other one is null. If windows
// do not overlap, dx may be x.
struct MaxPoolGradTensors {
  const void* x = nullptr;
  const uint8_t* places = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  void* workspace = nullptr;  // MaxPoolGradWorkspaceBytes
};

// With x. If windows overlap, the index of each window's maximum; else 0.
int64_t MaxPoolGradWorkspaceBytes(const Pool& pool);

LaunchError MaxPoolGrad(StreamHandle stream, const Pool& pool,
                        const MaxPoolGradTensors& tensors);
LaunchError AvgPoolGrad(StreamHandle stream, const Pool& pool, const void* dy,
                        void* dx);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_POOL_H_

// A pool's attributes as its GPU kernels take them.
#ifndef SPILLWAY_OPS_GPU_READ_POOL_H_
#define SPILLWAY_OPS_GPU_READ_POOL_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"
#include "ops/gpu/kernel/pool.h"

namespace spillway {

// The pool over x. Without counts_padding, which only AvgPool has. Errors:
// INVALID_ARGUMENT; UNIMPLEMENTED for a dtype that the GPU does not compute in
// and for images of 2^31 pixels.
absl::StatusOr<gpu::Pool> ReadGpuPool(const Attributes& attributes,
                                      const TensorType& x);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_READ_POOL_H_

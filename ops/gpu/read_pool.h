// A pool's attributes in the form that its GPU kernels take.
#ifndef SPILLWAY_OPS_GPU_READ_POOL_H_
#define SPILLWAY_OPS_GPU_READ_POOL_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"
#include "ops/gpu/kernel/pool.h"

namespace spillway {

// The pool over x, without counts_padding, which only AvgPool has. Errors:
// INVALID_ARGUMENT; UNIMPLEMENTED for a dtype that the GPU does not support and
// for images of 2^31 pixels or more.
absl::StatusOr<gpu::Pool> ReadGpuPool(const Attributes& attributes,
                                      const TensorType& x);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_READ_POOL_H_

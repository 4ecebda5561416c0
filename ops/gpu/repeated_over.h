// RepeatedDims of the GPU (repeated_dims.h) from shapes, for host code.
#ifndef SPILLWAY_OPS_GPU_REPEATED_OVER_H_
#define SPILLWAY_OPS_GPU_REPEATED_OVER_H_

#include <span>

#include "graph/shape.h"
#include "ops/gpu/kernel/repeated_dims.h"

namespace spillway {

// Of one to three operands, whose shapes can be broadcast (CHECKed).
gpu::RepeatedDims RepeatedOver(std::span<const Shape> shapes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_REPEATED_OVER_H_

// RepeatedDims of the GPU (repeated_dims.h) from shapes, for host code, and
// kernels of two operands that are repeated.
#ifndef SPILLWAY_OPS_GPU_REPEATED_OVER_H_
#define SPILLWAY_OPS_GPU_REPEATED_OVER_H_

#include <array>
#include <span>

#include "graph/shape.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/repeated_dims.h"

namespace spillway {

// Of one to three operands, whose shapes can be broadcast (CHECKed).
gpu::RepeatedDims RepeatedOver(std::span<const Shape> shapes);

// Of a node of two operands of one dtype, and one output: launch(stream, dtype,
// dims, a, b, y) returns a LaunchError.
template <typename Fn>
NewKernel RepeatedPairKernel(const KernelRequest& node, Fn launch) {
  const std::array<Shape, 2> shapes = {node.inputs[0].shape,
                                       node.inputs[1].shape};
  return MakeGpuKernel(
      [launch, dtype = node.inputs[0].dtype,
       dims = RepeatedOver(shapes)](const KernelContext& context) {
        return launch(context.stream, dtype, dims, context.inputs[0],
                      context.inputs[1], context.outputs[0]);
      });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_REPEATED_OVER_H_

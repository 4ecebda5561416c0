#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {

NewKernel SliceGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                   node.attributes.GetInts("begin"));
  const StridedCopy copy = {.sizes = y.dims(),
                            .from_strides = RowMajorStrides(x.shape),
                            .to_strides = RowMajorStrides(y),
                            .element_bytes = SizeOf(x.dtype)};
  FirstBytes first;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    first.from += begin[axis] * copy.from_strides[axis] * copy.element_bytes;
  }
  return MakeGpuKernel(
      [box = MakeStridedBox(copy, first)](const KernelContext& context) {
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

}  // namespace spillway::ops

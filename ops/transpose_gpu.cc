#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {

NewKernel TransposeGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                   node.attributes.GetInts("perm"));
  const std::vector<int64_t> x_strides = RowMajorStrides(x.shape);
  std::vector<int64_t> from_strides;
  for (const int64_t axis : perm) {
    from_strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  const gpu::StridedBox box =
      MakeStridedBox({.sizes = y.dims(),
                      .from_strides = from_strides,
                      .to_strides = RowMajorStrides(y),
                      .element_bytes = SizeOf(x.dtype)});
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::CopyBox(context.stream, box, context.inputs[0],
                        context.outputs[0]);
  });
}

}  // namespace spillway::ops

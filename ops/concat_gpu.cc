#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {

NewKernel ConcatGpu(const KernelRequest& node) {
  const TensorType& y = node.outputs[0];
  ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  ASSIGN_OR_RETURN(const int resolved, ResolveAxis(axis, y.shape.rank()));
  const std::vector<int64_t> strides = RowMajorStrides(y.shape);
  const int64_t bytes_along =
      strides[static_cast<size_t>(resolved)] * SizeOf(y.dtype);
  std::vector<gpu::StridedBox> parts;
  FirstBytes first;
  for (const TensorType& x : node.inputs) {
    parts.push_back(MakeStridedBox({.sizes = x.shape.dims(),
                                    .from_strides = RowMajorStrides(x.shape),
                                    .to_strides = strides,
                                    .element_bytes = SizeOf(y.dtype)},
                                   first));
    first.to += x.shape.dim(resolved) * bytes_along;
  }
  return MakeGpuKernel(
      [parts = std::move(parts)](const KernelContext& context) {
        for (size_t i = 0; i < parts.size(); ++i) {
          const gpu::LaunchError error = gpu::CopyBox(
              context.stream, parts[i], context.inputs[i], context.outputs[0]);
          if (error != 0) return error;
        }
        return gpu::LaunchError{0};
      });
}

}  // namespace spillway::ops

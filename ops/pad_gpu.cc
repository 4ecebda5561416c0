#include <bit>
#include <cstdint>
#include <vector>

#include "base/bfloat16.h"
#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {
namespace {

// `value` in `dtype`, as often as 8 bytes hold it.
uint64_t Pattern(DType dtype, float value) {
  if (dtype == DType::kBFloat16) {
    return ToBFloat16(value).bits * uint64_t{0x0001'0001'0001'0001};
  }
  return std::bit_cast<uint32_t>(value) * uint64_t{0x0000'0001'0000'0001};
}

gpu::StridedBox BoxOfX(const KernelRequest& node,
                       const std::vector<std::vector<int64_t>>& paddings) {
  const TensorType& x = node.inputs[0];
  const StridedCopy copy = {
      .sizes = x.shape.dims(),
      .from_strides = RowMajorStrides(x.shape),
      .to_strides = RowMajorStrides(node.outputs[0].shape),
      .element_bytes = SizeOf(x.dtype)};
  FirstBytes first;
  for (size_t axis = 0; axis < paddings.size(); ++axis) {
    first.to += paddings[axis][0] * copy.to_strides[axis] * copy.element_bytes;
  }
  return MakeStridedBox(copy, first);
}

}  // namespace

// Fills y, then copies x into its place.
NewKernel PadGpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const double value, node.attributes.GetReal("value", 0));
  ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> paddings,
                   node.attributes.GetIntLists("paddings"));
  const TensorType& y = node.outputs[0];
  if (value != 0) RETURN_IF_ERROR(CheckGpuStorage(y));
  const uint64_t pattern =
      value == 0 ? 0 : Pattern(y.dtype, static_cast<float>(value));
  return MakeGpuKernel(
      [=, box = BoxOfX(node, paddings),
       num_bytes = y.num_bytes()](const KernelContext& context) {
        const gpu::LaunchError error =
            gpu::Fill(context.stream, pattern, context.outputs[0], num_bytes);
        if (error != 0) return error;
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

}  // namespace spillway::ops

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/status_macros.h"
#include "ops/array/layout.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {

namespace {

std::vector<gpu::StridedBox> BoxesOf(const std::vector<StridedCopy>& copies) {
  std::vector<gpu::StridedBox> boxes;
  for (const StridedCopy& copy : copies) boxes.push_back(MakeStridedBox(copy));
  return boxes;
}

gpu::LaunchError CopyBoxes(const KernelContext& context,
                           const std::vector<gpu::StridedBox>& boxes,
                           std::span<void* const> inputs) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    const gpu::LaunchError error =
        gpu::CopyBox(context.stream, boxes[i], inputs[i], context.outputs[0]);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace

NewKernel ConcatGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<StridedCopy> copies,
                            ConcatCopies(node));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t room,
                            node.attributes.GetInt("room", 0));
  const int64_t bytes_to_fill = room > 0 ? node.outputs[0].num_bytes() : 0;
  return MakeGpuKernel(
      [bytes_to_fill, boxes = BoxesOf(copies)](const KernelContext& context) {
        if (bytes_to_fill > 0) {
          const gpu::LaunchError error =
              gpu::Fill(context.stream, 0, context.outputs[0], bytes_to_fill);
          if (error != 0) return error;
        }
        return CopyBoxes(context, boxes, context.inputs);
      });
}

NewKernel ConcatIntoGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<StridedCopy> copies,
                            ConcatIntoCopies(node));
  const TensorType& y = node.outputs[0];
  const gpu::StridedBox whole =
      MakeStridedBox({.sizes = y.shape.dims(),
                      .from_strides = RowMajorStrides(y.shape),
                      .to_strides = RowMajorStrides(y.shape),
                      .element_bytes = SizeOf(y.dtype)});
  return MakeGpuKernel(
      [whole, boxes = BoxesOf(copies)](const KernelContext& context) {
        if (context.inputs[0] != context.outputs[0]) {
          const gpu::LaunchError error = gpu::CopyBox(
              context.stream, whole, context.inputs[0], context.outputs[0]);
          if (error != 0) return error;
        }
        return CopyBoxes(context, boxes, context.inputs.subspan(1));
      });
}

NewKernel BroadcastToGpu(const KernelRequest& node) {
  return MakeGpuKernel([box = MakeStridedBox(BroadcastToCopy(node))](
                           const KernelContext& context) {
    return gpu::CopyBox(context.stream, box, context.inputs[0],
                        context.outputs[0]);
  });
}

NewKernel SliceGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy copy, SliceCopy(node));
  return MakeGpuKernel(
      [box = MakeStridedBox(copy)](const KernelContext& context) {
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

NewKernel TransposeGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy copy, TransposeCopy(node));
  return MakeGpuKernel(
      [box = MakeStridedBox(copy)](const KernelContext& context) {
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

namespace {

// `value` in `dtype`, repeated to fill 8 bytes.
uint64_t Pattern(DType dtype, float value) {
  if (dtype == DType::kBFloat16) {
    return ToBFloat16(value).bits * uint64_t{0x0001'0001'0001'0001};
  }
  if (dtype == DType::kFloat16) {
    return ToFloat16(value).bits * uint64_t{0x0001'0001'0001'0001};
  }
  return std::bit_cast<uint32_t>(value) * uint64_t{0x0000'0001'0000'0001};
}

}  // namespace

// Fills y, then copies x into its place.
NewKernel PadGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double value,
                            node.attributes.GetReal("value", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy copy, PadCopy(node));
  const TensorType& y = node.outputs[0];
  if (value != 0) SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(y));
  const uint64_t pattern =
      value == 0 ? 0 : Pattern(y.dtype, static_cast<float>(value));
  return MakeGpuKernel(
      [=, box = MakeStridedBox(copy),
       num_bytes = y.num_bytes()](const KernelContext& context) {
        const gpu::LaunchError error =
            gpu::Fill(context.stream, pattern, context.outputs[0], num_bytes);
        if (error != 0) return error;
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

}  // namespace spillway::ops

#include "ops/gpu/conv/conv_operands.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "ops/gpu/conv/conv_descriptors.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway {
namespace {

constexpr int64_t kAlignment = 256;  // of everything in the workspace

// From x of `conv` to x of `padded`.
gpu::PadWindow PaddingOf(const ConvGeometry& conv, const ConvGeometry& padded) {
  gpu::PadWindow window = {.batch = conv.batch, .channels = conv.in_channels};
  const size_t first = std::size(window.from) - conv.window.size();
  for (size_t i = 0; i < conv.window.size(); ++i) {
    window.from[first + i] = conv.window[i].input;
    window.to[first + i] = padded.window[i].input;
    window.before[first + i] =
        conv.window[i].pad_before - padded.window[i].pad_before;
  }
  return window;
}

gpu::PadWindow Inverse(gpu::PadWindow window) {
  for (size_t axis = 0; axis < std::size(window.from); ++axis) {
    std::swap(window.from[axis], window.to[axis]);
    window.before[axis] *= -1;
  }
  return window;
}

bool ChangesNothing(const gpu::PadWindow& window) {
  return std::ranges::equal(window.from, window.to) &&
         std::ranges::all_of(window.before, [](int64_t n) { return n == 0; });
}

// Elements of the copy.
int64_t Elements(const gpu::PadWindow& window) {
  return window.batch * window.to[0] * window.to[1] * window.to[2] *
         window.channels;
}

// All elements in one row: for a copy that only converts the dtype.
gpu::PadWindow Row(int64_t elements) { return {.channels = elements}; }

int64_t FilterElements(const ConvGeometry& conv) {
  int64_t elements = conv.out_channels * (conv.in_channels / conv.groups);
  for (const WindowDim& dim : conv.window) elements *= dim.size;
  return elements;
}

ConvOperand MakeOperand(int input, DType dtype, DType copy_dtype,
                        const gpu::PadWindow& to_copy) {
  return {.input = input,
          .dtype = dtype,
          .copy_dtype = copy_dtype,
          .to_copy = to_copy,
          .has_copy = dtype != copy_dtype || !ChangesNothing(to_copy)};
}

}  // namespace

void* ConvOperand::Original(const KernelContext& context) const {
  return is_output() ? context.outputs[0]
                     : context.inputs[static_cast<size_t>(input)];
}

void* ConvOperand::Data(const KernelContext& context) const {
  return has_copy ? static_cast<std::byte*>(context.workspace) + copy_offset
                  : Original(context);
}

ConvGeometry PadIntoInput(ConvGeometry conv) {
  for (WindowDim& dim : conv.window) dim = PadIntoInput(dim);
  return conv;
}

ConvOperands MakeConvOperands(const GpuConvSpec& spec,
                              const ConvDTypes& dtypes) {
  const ConvGeometry& conv = spec.geometry;
  ConvOperands operands = {
      .x = MakeOperand(spec.x, spec.dtype, dtypes.activations,
                       PaddingOf(conv, PadIntoInput(conv))),
      .filter = MakeOperand(spec.filter, spec.filter_dtype, dtypes.filter,
                            Row(FilterElements(conv))),
      .y = MakeOperand(spec.y, spec.dtype, dtypes.activations,
                       Row(ConvOutput(conv).num_elements()))};
  for (ConvOperand* operand : {&operands.x, &operands.filter, &operands.y}) {
    operand->copy_offset = operands.copy_bytes;
    if (!operand->has_copy) continue;
    operands.copy_bytes += AlignUp(
        Elements(operand->to_copy) * SizeOf(operand->copy_dtype), kAlignment);
  }
  return operands;
}

absl::Status FillCopy(const ConvOperand& operand,
                      const KernelContext& context) {
  if (!operand.has_copy || operand.is_output()) return absl::OkStatus();
  return LaunchStatus(gpu::Pad(context.stream, operand.to_copy, operand.dtype,
                               operand.Original(context), operand.copy_dtype,
                               operand.Data(context)));
}

absl::Status CopyBack(const ConvOperand& operand,
                      const KernelContext& context) {
  if (!operand.has_copy || !operand.is_output()) return absl::OkStatus();
  return LaunchStatus(gpu::Pad(context.stream, Inverse(operand.to_copy),
                               operand.copy_dtype, operand.Data(context),
                               operand.dtype, operand.Original(context)));
}

}  // namespace spillway

#include "ops/gpu/conv_kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/gpu/conv_descriptors.h"
#include "ops/gpu/conv_directions.h"
#include "ops/gpu/cudnn.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/matmul_kernel.h"
#include "ops/gpu/pad_window.h"

namespace spillway {
namespace {

constexpr size_t kMostWorkspaceBytes = size_t{1} << 30;
constexpr int64_t kAlignment = 256;  // of what is in the workspace

// The convolution that cuDNN is to compute: of the same y.
ConvGeometry Padded(ConvGeometry conv) {
  for (WindowDim& dim : conv.window) dim = PadIntoInput(dim);
  return conv;
}

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

// Of the copy.
int64_t Elements(const gpu::PadWindow& window) {
  return window.batch * window.to[0] * window.to[1] * window.to[2] *
         window.channels;
}

// All elements in one row: for a copy that only converts.
gpu::PadWindow Row(int64_t elements) { return {.channels = elements}; }

int64_t FilterElements(const ConvGeometry& conv) {
  int64_t elements = conv.out_channels * (conv.in_channels / conv.groups);
  for (const WindowDim& dim : conv.window) elements *= dim.size;
  return elements;
}

// A tensor of the op. Where cuDNN needs another, that is a copy in the
// workspace, made before the call or, of the output, copied back after it.
struct Operand {
  int input = kGpuConvOutput;  // its place among the inputs
  DType dtype = DType::kFloat32;
  DType copy_dtype = DType::kFloat32;
  gpu::PadWindow to_copy = {};
  bool has_copy = false;
  int64_t copy_offset = 0;

  bool is_output() const { return input == kGpuConvOutput; }
  void* Original(const KernelContext& context) const {
    return is_output() ? context.outputs[0]
                       : context.inputs[static_cast<size_t>(input)];
  }
  void* Data(const KernelContext& context) const {
    return has_copy ? static_cast<std::byte*>(context.workspace) + copy_offset
                    : Original(context);
  }
};

Operand MakeOperand(int input, DType dtype, DType copy_dtype,
                    const gpu::PadWindow& to_copy) {
  return {.input = input,
          .dtype = dtype,
          .copy_dtype = copy_dtype,
          .to_copy = to_copy,
          .has_copy = dtype != copy_dtype || !ChangesNothing(to_copy)};
}

struct Operands {
  Operand x = {};
  Operand filter = {};
  Operand y = {};
};

// cuDNN computes in `dtype`.
Operands MakeOperands(const GpuConvSpec& spec, const ConvGeometry& padded,
                      DType dtype) {
  const ConvGeometry& conv = spec.geometry;
  return {.x = MakeOperand(spec.x, spec.dtype, dtype, PaddingOf(conv, padded)),
          .filter = MakeOperand(spec.filter, spec.filter_dtype, dtype,
                                Row(FilterElements(conv))),
          .y = MakeOperand(spec.y, spec.dtype, dtype,
                           Row(ConvOutput(conv).num_elements()))};
}

absl::Status FillCopy(const Operand& operand, const KernelContext& context) {
  if (!operand.has_copy || operand.is_output()) return absl::OkStatus();
  return LaunchStatus(gpu::Pad(context.stream, operand.to_copy, operand.dtype,
                               operand.Original(context), operand.copy_dtype,
                               operand.Data(context)));
}

absl::Status CopyBack(const Operand& operand, const KernelContext& context) {
  if (!operand.has_copy || !operand.is_output()) return absl::OkStatus();
  return LaunchStatus(gpu::Pad(context.stream, Inverse(operand.to_copy),
                               operand.copy_dtype, operand.Data(context),
                               operand.dtype, operand.Original(context)));
}

template <typename Direction>
struct Chosen {
  typename Direction::Algorithm algorithm = {};
  size_t workspace_bytes = 0;
};

bool IsUnsupported(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_NOT_SUPPORTED &&
         status < CUDNN_STATUS_INTERNAL_ERROR;
}

// The workspace that the algorithm of `result` needs with the math that it was
// rated with, which `descriptors` have from now on; none: it cannot be used.
template <typename Direction>
absl::StatusOr<std::optional<size_t>> WorkspaceOf(
    const LockedCudnn& cudnn, const ConvDescriptors& descriptors,
    const typename Direction::Result& result) {
  RETURN_IF_ERROR(CudnnStatus(
      cudnn.api,
      cudnn.api.set_math_type(descriptors.conv.get(), result.mathType),
      "cudnnSetConvolutionMathType"));
  size_t bytes = 0;
  const cudnnStatus_t status =
      Direction::WorkspaceSize(cudnn, descriptors, result.algo, &bytes);
  if (IsUnsupported(status)) return std::nullopt;
  RETURN_IF_ERROR(
      CudnnStatus(cudnn.api, status, Direction::kWorkspaceSizeName));
  if (bytes > kMostWorkspaceBytes) return std::nullopt;
  return bytes;
}

// What a kernel may use of what cuDNN suggests.
template <typename Direction>
struct Rule {
  bool (*is_allowed)(typename Direction::Algorithm) =
      Direction::IsDeterministic;
  cudnnMathType_t math = CUDNN_FMA_MATH;

  bool Allows(const typename Direction::Result& result) const {
    return result.status == CUDNN_STATUS_SUCCESS &&
           result.determinism == CUDNN_DETERMINISTIC && is_allowed(result.algo);
  }
};

template <typename Direction>
absl::StatusOr<Chosen<Direction>> Choose(const LockedCudnn& cudnn,
                                         const ConvDescriptors& descriptors,
                                         const Rule<Direction>& rule) {
  // An algorithm may come twice, with and without tensor cores.
  std::array<typename Direction::Result, 2 * Direction::kAlgorithms> results;
  int count = 0;
  RETURN_IF_ERROR(CudnnStatus(
      cudnn.api,
      Direction::Find(cudnn, descriptors, static_cast<int>(results.size()),
                      &count, results.data()),
      Direction::kFindName));
  for (typename Direction::Result& result :
       std::span(results).first(static_cast<size_t>(count))) {
    if (!rule.Allows(result)) continue;
    // No rounding to TF32, whatever the heuristic says.
    if (rule.math == CUDNN_FMA_MATH) result.mathType = CUDNN_FMA_MATH;
    ASSIGN_OR_RETURN(const std::optional<size_t> bytes,
                     WorkspaceOf<Direction>(cudnn, descriptors, result));
    if (bytes) return Chosen<Direction>{result.algo, *bytes};
  }
  return Unimplemented(
      "cuDNN has no deterministic algorithm with a workspace of at most 1 GiB "
      "for this convolution");
}

// Workspace: the copies of x, filter and y (each only where there is one), then
// cuDNN's own.
template <typename Direction>
class GpuConvKernel final : public Kernel {
 public:
  GpuConvKernel(const Operands& operands, ConvDescriptors descriptors,
                const Chosen<Direction>& chosen)
      : operands_(operands),
        descriptors_(std::move(descriptors)),
        chosen_(chosen) {
    for (Operand* operand : {&operands_.x, &operands_.filter, &operands_.y}) {
      operand->copy_offset = own_offset_;
      if (!operand->has_copy) continue;
      own_offset_ += AlignUp(
          Elements(operand->to_copy) * SizeOf(operand->copy_dtype), kAlignment);
    }
  }

  int64_t workspace_bytes() const override {
    return own_offset_ + static_cast<int64_t>(chosen_.workspace_bytes);
  }

  absl::Status Run(const KernelContext& context) override {
    const auto& [x, filter, y] = operands_;
    RETURN_IF_ERROR(FillCopy(x, context));
    RETURN_IF_ERROR(FillCopy(filter, context));
    RETURN_IF_ERROR(FillCopy(y, context));
    RETURN_IF_ERROR(Convolve(context));
    return CopyBack(x, context);  // the only output that may have a copy
  }

 private:
  absl::Status Convolve(const KernelContext& context) {
    ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
    RETURN_IF_ERROR(CudnnStatus(
        cudnn.api,
        cudnn.api.set_stream(cudnn.handle,
                             static_cast<cudaStream_t>(context.stream)),
        "cudnnSetStream"));
    const ConvData data = {.x = operands_.x.Data(context),
                           .filter = operands_.filter.Data(context),
                           .y = operands_.y.Data(context)};
    const ConvWorkspace workspace = {
        .data = static_cast<std::byte*>(context.workspace) + own_offset_,
        .bytes = chosen_.workspace_bytes};
    return CudnnStatus(
        cudnn.api,
        Direction::Run(cudnn, descriptors_, chosen_.algorithm, data, workspace),
        Direction::kRunName);
  }

  Operands operands_;
  ConvDescriptors descriptors_;
  Chosen<Direction> chosen_;
  int64_t own_offset_ = 0;  // where cuDNN's workspace begins
};

// cuDNN computes in `dtype`.
template <typename Direction>
NewKernel MakeConv(const GpuConvSpec& spec, DType dtype,
                   const Rule<Direction>& rule) {
  const ConvGeometry padded = Padded(spec.geometry);
  ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
  ASSIGN_OR_RETURN(ConvDescriptors descriptors,
                   MakeConvDescriptors(cudnn.api, padded, dtype, rule.math));
  ASSIGN_OR_RETURN(const Chosen<Direction> chosen,
                   Choose(cudnn, descriptors, rule));
  return std::make_unique<GpuConvKernel<Direction>>(
      MakeOperands(spec, padded, dtype), std::move(descriptors), chosen);
}

cudnnMathType_t MathFor(DType dtype) {
  return dtype == DType::kBFloat16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
}

bool IsPointwise(const ConvGeometry& conv) {
  return conv.groups == 1 &&
         std::ranges::all_of(conv.window, [](const WindowDim& dim) {
           return dim.size == 1 && dim.stride == 1 && dim.output == dim.input;
         });
}

// dfilter is transpose(dy) x, matrices with a row for each pixel.
NewKernel PointwiseFilterGradient(const GpuConvSpec& spec) {
  const ConvGeometry& conv = spec.geometry;
  return MakeGpuMatMulKernel(
      {.m = conv.out_channels,
       .k = ConvOutput(conv).num_elements() / conv.out_channels,
       .n = conv.in_channels,
       .transpose_a = true,
       .a = spec.y,
       .b = spec.x,
       .a_dtype = spec.dtype,
       .b_dtype = spec.dtype,
       .y_dtype = spec.filter_dtype});
}

// Multiplies the operands themselves, not sums of them.
bool MultipliesOperands(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
}

}  // namespace

NewKernel MakeGpuConvKernel(const GpuConvSpec& spec) {
  return MakeConv<ConvForward>(spec, spec.dtype, {.math = MathFor(spec.dtype)});
}

NewKernel MakeGpuConvInputGradientKernel(const GpuConvSpec& spec) {
  return MakeConv<ConvInputGradient>(spec, spec.dtype,
                                     {.math = MathFor(spec.dtype)});
}

NewKernel MakeGpuConvFilterGradientKernel(const GpuConvSpec& spec) {
  if (spec.filter_dtype == spec.dtype) {
    return MakeConv<ConvFilterGradient>(spec, spec.dtype,
                                        {.math = MathFor(spec.dtype)});
  }
  if (IsPointwise(spec.geometry)) return PointwiseFilterGradient(spec);
  // TF32 holds what was bfloat16, but not sums of it.
  return MakeConv<ConvFilterGradient>(
      spec, spec.filter_dtype,
      {.is_allowed = MultipliesOperands, .math = CUDNN_DEFAULT_MATH});
}

}  // namespace spillway

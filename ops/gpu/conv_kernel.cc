#include "ops/gpu/conv_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/algorithm_named.h"
#include "ops/gpu/conv_algorithms.h"
#include "ops/gpu/conv_descriptors.h"
#include "ops/gpu/conv_directions.h"
#include "ops/gpu/conv_operands.h"
#include "ops/gpu/cudnn.h"
#include "ops/gpu/matmul_kernel.h"

namespace spillway {
namespace {

// Workspace: the copies of x, filter and y (each only where there is one), then
// cuDNN's own.
template <typename Direction>
class GpuConvKernel final : public Kernel {
 public:
  using Algorithm = ConvAlgorithm<Direction>;

  GpuConvKernel(const ConvOperands& operands, ConvDescriptors descriptors,
                const ConvRule<Direction>& rule)
      : operands_(operands),
        descriptors_(std::move(descriptors)),
        rule_(rule) {}

  // Before all else. `name`: of KernelRequest::algorithm.
  absl::Status Choose(const LockedCudnn& cudnn, std::string_view name) {
    ASSIGN_OR_RETURN(const std::vector<Algorithm> found,
                     Find(cudnn, name.empty() ? 1 : kAll));
    if (found.empty()) {
      return Unimplemented(fmt::format(
          "cuDNN has no {}algorithm with a workspace of at most 1 GiB for this "
          "convolution",
          rule_.deterministic ? "deterministic " : ""));
    }
    ASSIGN_OR_RETURN(const size_t at, AlgorithmNamed(name, Describe(found)));
    return Use(cudnn, found[at]);
  }

  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
    ASSIGN_OR_RETURN(const std::vector<Algorithm> found, Find(cudnn, kAll));
    RETURN_IF_ERROR(Use(cudnn, chosen_));
    return Describe(found);
  }

  std::string_view algorithm() const override { return chosen_name_; }

  int64_t workspace_bytes() const override { return WorkspaceOf(chosen_); }

  absl::Status Run(const KernelContext& context) override {
    RETURN_IF_ERROR(FillCopy(operands_.x, context));
    RETURN_IF_ERROR(FillCopy(operands_.filter, context));
    RETURN_IF_ERROR(FillCopy(operands_.y, context));
    RETURN_IF_ERROR(Convolve(context));
    return CopyBack(operands_.x, context);  // the only output that may be one
  }

 private:
  static constexpr size_t kAll = std::numeric_limits<size_t>::max();

  absl::StatusOr<std::vector<Algorithm>> Find(const LockedCudnn& cudnn,
                                              size_t most) const {
    return FindConvAlgorithms(cudnn, descriptors_, rule_, most);
  }

  int64_t WorkspaceOf(const Algorithm& algorithm) const {
    return operands_.copy_bytes +
           static_cast<int64_t>(algorithm.workspace_bytes);
  }

  std::vector<KernelAlgorithm> Describe(
      const std::vector<Algorithm>& found) const {
    std::vector<KernelAlgorithm> list;
    for (const Algorithm& algorithm : found) {
      list.push_back({.name = algorithm.name(),
                      .workspace_bytes = WorkspaceOf(algorithm)});
    }
    return list;
  }

  absl::Status Use(const LockedCudnn& cudnn, const Algorithm& algorithm) {
    chosen_ = algorithm;
    chosen_name_ = algorithm.name();
    return SetMath(cudnn, descriptors_, algorithm.math);
  }

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
        .data =
            static_cast<std::byte*>(context.workspace) + operands_.copy_bytes,
        .bytes = chosen_.workspace_bytes};
    return CudnnStatus(
        cudnn.api,
        Direction::Run(cudnn, descriptors_, chosen_.algorithm, data, workspace),
        Direction::kRunName);
  }

  ConvOperands operands_;
  ConvDescriptors descriptors_;
  ConvRule<Direction> rule_;
  Algorithm chosen_ = {};
  std::string chosen_name_;
};

// cuDNN computes in `dtype`.
template <typename Direction>
NewKernel MakeConv(const KernelRequest& node, const GpuConvSpec& spec,
                   DType dtype, const ConvRule<Direction>& rule) {
  const ConvGeometry padded = PadIntoInput(spec.geometry);
  ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
  ASSIGN_OR_RETURN(ConvDescriptors descriptors,
                   MakeConvDescriptors(cudnn.api, padded, dtype, rule.math));
  auto kernel = std::make_unique<GpuConvKernel<Direction>>(
      MakeConvOperands(spec, padded, dtype), std::move(descriptors), rule);
  RETURN_IF_ERROR(kernel->Choose(cudnn, node.algorithm));
  return kernel;
}

// For operands that are multiplied in the dtype that they have.
template <typename Direction>
ConvRule<Direction> RuleFor(const MathOptions& math, DType dtype) {
  const cudnnMathType_t wide =
      math.allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  return {.deterministic = math.deterministic,
          .math = dtype == DType::kFloat32 ? wide : CUDNN_TENSOR_OP_MATH};
}

bool IsPointwise(const ConvGeometry& conv) {
  return conv.groups == 1 &&
         std::ranges::all_of(conv.window, [](const WindowDim& dim) {
           return dim.size == 1 && dim.stride == 1 && dim.output == dim.input;
         });
}

// dfilter is transpose(dy) x, matrices with a row for each pixel.
NewKernel PointwiseFilterGradient(const KernelRequest& node,
                                  const GpuConvSpec& spec) {
  const ConvGeometry& conv = spec.geometry;
  return MakeGpuMatMulKernel(
      node, {.m = conv.out_channels,
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
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

}  // namespace

NewKernel MakeGpuConvKernel(const KernelRequest& node,
                            const GpuConvSpec& spec) {
  return MakeConv(node, spec, spec.dtype,
                  RuleFor<ConvForward>(node.math, spec.dtype));
}

NewKernel MakeGpuConvInputGradientKernel(const KernelRequest& node,
                                         const GpuConvSpec& spec) {
  return MakeConv(node, spec, spec.dtype,
                  RuleFor<ConvInputGradient>(node.math, spec.dtype));
}

NewKernel MakeGpuConvFilterGradientKernel(const KernelRequest& node,
                                          const GpuConvSpec& spec) {
  if (spec.filter_dtype == spec.dtype) {
    return MakeConv(node, spec, spec.dtype,
                    RuleFor<ConvFilterGradient>(node.math, spec.dtype));
  }
  if (IsPointwise(spec.geometry)) return PointwiseFilterGradient(node, spec);
  // TF32 holds what was shorter, but not sums of it.
  return MakeConv<ConvFilterGradient>(node, spec, spec.filter_dtype,
                                      {.is_allowed = MultipliesOperands,
                                       .deterministic = node.math.deterministic,
                                       .math = CUDNN_DEFAULT_MATH});
}

}  // namespace spillway

#include "ops/gpu/conv/conv_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/algorithm_named.h"
#include "ops/gpu/conv/conv_algorithm_ways.h"
#include "ops/gpu/conv/conv_directions.h"
#include "ops/gpu/conv/conv_engine_ways.h"
#include "ops/gpu/conv/conv_graph.h"
#include "ops/gpu/conv/conv_operands.h"
#include "ops/gpu/conv/conv_way.h"
#include "ops/gpu/library/cudnn.h"
#include "ops/gpu/matmul_kernel.h"

namespace spillway {
namespace {

// Workspace: the copies of x, filter and y (only those that are needed), then
// cuDNN's.
class GpuConvKernel final : public Kernel {
 public:
  using Sources = std::array<std::unique_ptr<ConvWays>, 2>;

  explicit GpuConvKernel(Sources sources) : sources_(std::move(sources)) {}

  // Must be called first.
  absl::Status Choose(const LockedCudnn& cudnn, const KernelRequest& node) {
    for (const std::unique_ptr<ConvWays>& source : sources_) {
      SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ConvWay>> found,
                                source->Find(cudnn, {.name = node.algorithm}));
      if (found.empty()) continue;
      operands_ = source->operands();
      way_ = std::move(found[0]);
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<KernelAlgorithm> list,
                              List(cudnn));
    if (!list.empty()) return AlgorithmNamed(node.algorithm, list).status();
    return Unimplemented(fmt::format(
        "cuDNN has no {}algorithm with a workspace of at most 1 GiB for this "
        "convolution",
        node.math.deterministic ? "deterministic " : ""));
  }

  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    SPILLWAY_ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
    return List(cudnn);
  }

  std::string_view algorithm() const override { return way_->name(); }

  int64_t workspace_bytes() const override {
    return operands_.copy_bytes + way_->workspace_bytes();
  }

  absl::Status Run(const KernelContext& context) override {
    SPILLWAY_RETURN_IF_ERROR(FillCopy(operands_.x, context));
    SPILLWAY_RETURN_IF_ERROR(FillCopy(operands_.filter, context));
    SPILLWAY_RETURN_IF_ERROR(FillCopy(operands_.y, context));
    SPILLWAY_RETURN_IF_ERROR(Convolve(context));
    return CopyBack(operands_.x, context);  // the only output with a copy
  }

 private:
  // Lists the algorithms of all sources.
  absl::StatusOr<std::vector<KernelAlgorithm>> List(const LockedCudnn& cudnn) {
    std::vector<KernelAlgorithm> list;
    for (const std::unique_ptr<ConvWays>& source : sources_) {
      const auto found =
          source->Find(cudnn, {.most = std::numeric_limits<size_t>::max()});
      // For example, more elements than the legacy API can count.
      if (absl::IsUnimplemented(found.status()) && !list.empty()) continue;
      SPILLWAY_RETURN_IF_ERROR(found.status());
      for (const std::unique_ptr<ConvWay>& way : *found) {
        list.push_back({.name = way->name(),
                        .workspace_bytes = source->operands().copy_bytes +
                                           way->workspace_bytes()});
      }
    }
    return list;
  }

  absl::Status Convolve(const KernelContext& context) {
    SPILLWAY_ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
    SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
        cudnn.api,
        cudnn.api.set_stream(cudnn.handle,
                             static_cast<cudaStream_t>(context.stream)),
        "cudnnSetStream"));
    return way_->Run(cudnn,
                     {.x = operands_.x.Data(context),
                      .filter = operands_.filter.Data(context),
                      .y = operands_.y.Data(context),
                      .workspace = static_cast<std::byte*>(context.workspace) +
                                   operands_.copy_bytes});
  }

  Sources sources_;  // engines, then algorithms
  ConvOperands operands_;
  std::unique_ptr<ConvWay> way_;
};

NewKernel MakeKernel(const KernelRequest& node,
                     std::unique_ptr<ConvWays> engines,
                     std::unique_ptr<ConvWays> algorithms) {
  auto kernel = std::make_unique<GpuConvKernel>(
      GpuConvKernel::Sources{std::move(engines), std::move(algorithms)});
  SPILLWAY_ASSIGN_OR_RETURN(const LockedCudnn cudnn, LockCudnn());
  SPILLWAY_RETURN_IF_ERROR(kernel->Choose(cudnn, node));
  return kernel;
}

// cuDNN gets all three tensors in the activations' dtype.
template <typename Direction>
NewKernel MakeConv(const KernelRequest& node, const GpuConvSpec& spec,
                   ConvDirection direction) {
  const bool is_float32 = spec.dtype == DType::kFloat32;
  const bool allow_tf32 = node.math.allow_tf32;
  const cudnnMathType_t wide = allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  return MakeKernel(
      node,
      std::make_unique<ConvEngineWays>(
          spec, direction,
          ConvDTypes{.activations = spec.dtype, .filter = spec.dtype},
          ConvEngineRule{.deterministic = node.math.deterministic,
                         .tensor_cores = !is_float32 || allow_tf32}),
      std::make_unique<ConvAlgorithmWays<Direction>>(
          spec, spec.dtype,
          ConvRule<Direction>{
              .deterministic = node.math.deterministic,
              .math = is_float32 ? wide : CUDNN_TENSOR_OP_MATH}));
}

// dfilter is transpose(dy) x, for matrices with one row per pixel.
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

// dx is dy filter, for matrices with one row per pixel, plus the addend.
NewKernel PointwiseInputGradient(const KernelRequest& node,
                                 const GpuConvSpec& spec) {
  const ConvGeometry& conv = spec.geometry;
  return MakeGpuMatMulKernel(
      node, {.m = ConvOutput(conv).num_elements() / conv.out_channels,
             .k = conv.out_channels,
             .n = conv.in_channels,
             .a = spec.y,
             .b = spec.filter,
             .a_dtype = spec.dtype,
             .b_dtype = spec.filter_dtype,
             .y_dtype = spec.dtype,
             .addend = spec.addend});
}

// Whether the algorithm multiplies the operands themselves, not sums of them.
bool MultipliesOperands(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

// A float32 gradient of shorter activations. Engines read these directly;
// algorithms multiply float32 copies in TF32, which represents the shorter
// values exactly. It does not represent sums of operands exactly, hence the
// filter.
NewKernel MakeWideFilterGradient(const KernelRequest& node,
                                 const GpuConvSpec& spec) {
  return MakeKernel(
      node,
      std::make_unique<ConvEngineWays>(
          spec, ConvDirection::kFilterGradient,
          ConvDTypes{.activations = spec.dtype, .filter = spec.filter_dtype},
          ConvEngineRule{.deterministic = node.math.deterministic,
                         .tensor_cores = true,
                         .transforms = false}),
      std::make_unique<ConvAlgorithmWays<ConvFilterGradient>>(
          spec, spec.filter_dtype,
          ConvRule<ConvFilterGradient>{.is_allowed = MultipliesOperands,
                                       .deterministic = node.math.deterministic,
                                       .math = CUDNN_DEFAULT_MATH}));
}

}  // namespace

NewKernel MakeGpuConvKernel(const KernelRequest& node,
                            const GpuConvSpec& spec) {
  return MakeConv<ConvForward>(node, spec, ConvDirection::kForward);
}

NewKernel MakeGpuConvInputGradientKernel(const KernelRequest& node,
                                         const GpuConvSpec& spec) {
  if (spec.addend >= 0) return PointwiseInputGradient(node, spec);
  return MakeConv<ConvInputGradient>(node, spec, ConvDirection::kInputGradient);
}

NewKernel MakeGpuConvFilterGradientKernel(const KernelRequest& node,
                                          const GpuConvSpec& spec) {
  if (spec.filter_dtype == spec.dtype) {
    return MakeConv<ConvFilterGradient>(node, spec,
                                        ConvDirection::kFilterGradient);
  }
  return IsPointwise(spec.geometry) ? PointwiseFilterGradient(node, spec)
                                    : MakeWideFilterGradient(node, spec);
}

}  // namespace spillway

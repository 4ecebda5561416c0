#include "ops/gpu/factories.h"

#include <string_view>
#include <utility>

namespace spillway {
namespace {

// Sorted by name, one per line.
// clang-format off
constexpr std::pair<std::string_view, KernelFactory> kGpuKernels[] = {
    {"AccumulateGradient", ops::AccumulateGradientGpu},
    {"Add", ops::AddGpu},
    {"AddN", ops::AddNGpu},
    {"AllReduce", ops::AllReduceGpu},
    {"ApplyAdagrad", ops::ApplyAdagradGpu},
    {"ApplyAdam", ops::ApplyAdamGpu},
    {"ApplyGradientDescent", ops::ApplyGradientDescentGpu},
    {"ApplyLars", ops::ApplyLarsGpu},
    {"ApplyMomentum", ops::ApplyMomentumGpu},
    {"ApplyRMSProp", ops::ApplyRMSPropGpu},
    {"ApplyVelocity", ops::ApplyVelocityGpu},
    {"ArgMax", ops::ArgMaxGpu},
    {"AssignAdd", ops::AssignAddGpu},
    {"AvgPool", ops::AvgPoolGpu},
    {"AvgPool3D", ops::AvgPoolGpu},
    {"AvgPool3DGrad", ops::AvgPoolGradGpu},
    {"AvgPoolGrad", ops::AvgPoolGradGpu},
    {"BatchNormApply", ops::BatchNormApplyGpu},
    {"BiasAdd", ops::BiasAddGpu},
    {"BiasAddGrad", ops::BiasAddGradGpu},
    {"Cast", ops::CastGpu},
    {"ClipByValue", ops::ClipByValueGpu},
    {"Concat", ops::ConcatGpu},
    {"Dropout", ops::DropoutGpu},
    {"DropoutGrad", ops::DropoutGpu},
    {"Elu", ops::EluGpu},
    {"EluGrad", ops::EluGradGpu},
    {"FusedBatchNorm", ops::FusedBatchNormGpu},
    {"FusedBatchNormGrad", ops::FusedBatchNormGradGpu},
    {"InTopK", ops::InTopKGpu},
    {"LRN", ops::LrnGpu},
    {"LRNGrad", ops::LrnGradGpu},
    {"MaxPool", ops::MaxPoolGpu},
    {"MaxPool3D", ops::MaxPoolGpu},
    {"MaxPool3DGrad", ops::MaxPoolGradGpu},
    {"MaxPoolGrad", ops::MaxPoolGradGpu},
    {"Mean", ops::MeanGpu},
    {"MeanGrad", ops::MeanGradGpu},
    {"Mul", ops::MulGpu},
    {"NormFactor", ops::NormFactorGpu},
    {"Pad", ops::PadGpu},
    {"Relu", ops::ReluGpu},
    {"Relu6", ops::Relu6Gpu},
    {"Relu6Grad", ops::Relu6GradGpu},
    {"ReluGrad", ops::ReluGradGpu},
    {"ScaleRows", ops::ScaleRowsGpu},
    {"Sigmoid", ops::SigmoidGpu},
    {"SigmoidGrad", ops::SigmoidGradGpu},
    {"Slice", ops::SliceGpu},
    {"Softmax", ops::SoftmaxGpu},
    {"SoftmaxGrad", ops::SoftmaxGradGpu},
    {"SparseSoftmaxCrossEntropyWithLogits", ops::SparseSoftmaxCrossEntropyWithLogitsGpu},
    {"SquareSum", ops::SquareSumGpu},
    {"Sub", ops::SubGpu},
    {"Sum", ops::SumGpu},
    {"SumGrad", ops::SumGradGpu},
    {"Tanh", ops::TanhGpu},
    {"TanhGrad", ops::TanhGradGpu},
    {"Transpose", ops::TransposeGpu},
};
// clang-format on

#ifdef SPILLWAY_WITH_CUDA
// Kernels that use NVIDIA's libraries, whose headers come with CUDA. Sorted by
// name.
constexpr std::pair<std::string_view, KernelFactory> kGpuLibraryKernels[] = {
    {"Conv2D", ops::ConvGpu},
    {"Conv2DBackpropFilter", ops::ConvBackpropFilterGpu},
    {"Conv2DBackpropInput", ops::ConvBackpropInputGpu},
    {"Conv2DTranspose", ops::ConvTransposeGpu},
    {"Conv3D", ops::ConvGpu},
    {"Conv3DBackpropFilter", ops::ConvBackpropFilterGpu},
    {"Conv3DBackpropInput", ops::ConvBackpropInputGpu},
    {"Conv3DTranspose", ops::ConvTransposeGpu},
    {"MatMul", ops::MatMulGpu},
};
#endif

}  // namespace

void AddGpuKernels(KernelRegistry& kernels) {
  for (const auto& [op, factory] : kGpuKernels) {
    kernels.Add(op, DeviceKind::kCuda, factory);
  }
#ifdef SPILLWAY_WITH_CUDA
  for (const auto& [op, factory] : kGpuLibraryKernels) {
    kernels.Add(op, DeviceKind::kCuda, factory);
  }
#endif
}

}  // namespace spillway

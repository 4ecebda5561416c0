#include "ops/gpu/factories.h"

#include <string_view>
#include <utility>

namespace spillway {
namespace {

template <PointwiseFunction kFunction>
NewKernel Unary(const KernelRequest& node) {
  return ops::UnaryGpu(kFunction, node);
}

template <PointwiseFunction kFunction>
NewKernel UnaryGrad(const KernelRequest& node) {
  return ops::UnaryGradGpu(kFunction, node);
}

// Sorted by name, one per line.
// clang-format off
constexpr std::pair<std::string_view, KernelFactory> kGpuKernels[] = {
    {"Abs", Unary<PointwiseFunction::kAbs>},
    {"AbsGrad", UnaryGrad<PointwiseFunction::kAbs>},
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
    {"BroadcastTo", ops::BroadcastToGpu},
    {"Cast", ops::CastGpu},
    {"Ceil", Unary<PointwiseFunction::kCeil>},
    {"Celu", Unary<PointwiseFunction::kCelu>},
    {"CeluGrad", UnaryGrad<PointwiseFunction::kCelu>},
    {"Clip", Unary<PointwiseFunction::kClip>},
    {"ClipByValue", ops::ClipByValueGpu},
    {"ClipGrad", UnaryGrad<PointwiseFunction::kClip>},
    {"Concat", ops::ConcatGpu},
    {"ConcatInto", ops::ConcatIntoGpu},
    {"Cos", Unary<PointwiseFunction::kCos>},
    {"CosGrad", UnaryGrad<PointwiseFunction::kCos>},
    {"Dropout", ops::DropoutGpu},
    {"DropoutGrad", ops::DropoutGpu},
    {"Elu", ops::EluGpu},
    {"EluGrad", ops::EluGradGpu},
    {"Equal", ops::EqualGpu},
    {"Erf", Unary<PointwiseFunction::kErf>},
    {"ErfGrad", UnaryGrad<PointwiseFunction::kErf>},
    {"Exp", Unary<PointwiseFunction::kExp>},
    {"ExpGrad", UnaryGrad<PointwiseFunction::kExp>},
    {"Floor", Unary<PointwiseFunction::kFloor>},
    {"FusedBatchNorm", ops::FusedBatchNormGpu},
    {"FusedBatchNormGrad", ops::FusedBatchNormGradGpu},
    {"Gather", ops::GatherGpu},
    {"GatherGrad", ops::GatherGradGpu},
    {"Gelu", Unary<PointwiseFunction::kGelu>},
    {"GeluGrad", UnaryGrad<PointwiseFunction::kGelu>},
    {"GreaterShare", ops::GreaterShareGpu},
    {"GroupNorm", ops::GroupNormGpu},
    {"GroupNormGrad", ops::GroupNormGradGpu},
    {"HardSigmoid", Unary<PointwiseFunction::kHardSigmoid>},
    {"HardSigmoidGrad", UnaryGrad<PointwiseFunction::kHardSigmoid>},
    {"HardSwish", Unary<PointwiseFunction::kHardSwish>},
    {"HardSwishGrad", UnaryGrad<PointwiseFunction::kHardSwish>},
    {"InTopK", ops::InTopKGpu},
    {"LRN", ops::LrnGpu},
    {"LRNGrad", ops::LrnGradGpu},
    {"LayerNorm", ops::LayerNormGpu},
    {"LayerNormGrad", ops::LayerNormGradGpu},
    {"LeakyRelu", Unary<PointwiseFunction::kLeakyRelu>},
    {"LeakyReluGrad", UnaryGrad<PointwiseFunction::kLeakyRelu>},
    {"Less", ops::LessGpu},
    {"LessEqual", ops::LessEqualGpu},
    {"Log", Unary<PointwiseFunction::kLog>},
    {"LogGrad", UnaryGrad<PointwiseFunction::kLog>},
    {"LogicalAnd", ops::LogicalAndGpu},
    {"LogicalOr", ops::LogicalOrGpu},
    {"LogicalXor", ops::LogicalXorGpu},
    {"Max", ops::MaxGpu},
    {"MaxPool", ops::MaxPoolGpu},
    {"MaxPool3D", ops::MaxPoolGpu},
    {"MaxPool3DGrad", ops::MaxPoolGradGpu},
    {"MaxPoolGrad", ops::MaxPoolGradGpu},
    {"Maximum", ops::MaximumGpu},
    {"Mean", ops::MeanGpu},
    {"MeanGrad", ops::MeanGradGpu},
    {"Min", ops::MinGpu},
    {"Minimum", ops::MinimumGpu},
    {"Mish", Unary<PointwiseFunction::kMish>},
    {"MishGrad", UnaryGrad<PointwiseFunction::kMish>},
    {"Mul", ops::MulGpu},
    {"NormFactor", ops::NormFactorGpu},
    {"Pad", ops::PadGpu},
    {"Pow", ops::PowGpu},
    {"Power", Unary<PointwiseFunction::kPower>},
    {"PowerGrad", UnaryGrad<PointwiseFunction::kPower>},
    {"Prod", ops::ProdGpu},
    {"RealDiv", ops::RealDivGpu},
    {"Reciprocal", Unary<PointwiseFunction::kReciprocal>},
    {"ReciprocalGrad", UnaryGrad<PointwiseFunction::kReciprocal>},
    {"Relu", ops::ReluGpu},
    {"Relu6", ops::Relu6Gpu},
    {"Relu6Grad", ops::Relu6GradGpu},
    {"ReluGrad", ops::ReluGradGpu},
    {"Round", Unary<PointwiseFunction::kRound>},
    {"ScaleRows", ops::ScaleRowsGpu},
    {"Select", ops::SelectGpu},
    {"Selu", Unary<PointwiseFunction::kSelu>},
    {"SeluGrad", UnaryGrad<PointwiseFunction::kSelu>},
    {"Shrink", Unary<PointwiseFunction::kShrink>},
    {"ShrinkGrad", UnaryGrad<PointwiseFunction::kShrink>},
    {"Sigmoid", ops::SigmoidGpu},
    {"SigmoidGrad", ops::SigmoidGradGpu},
    {"Sign", Unary<PointwiseFunction::kSign>},
    {"Silu", Unary<PointwiseFunction::kSilu>},
    {"SiluGrad", UnaryGrad<PointwiseFunction::kSilu>},
    {"Sin", Unary<PointwiseFunction::kSin>},
    {"SinGrad", UnaryGrad<PointwiseFunction::kSin>},
    {"Slice", ops::SliceGpu},
    {"Softmax", ops::SoftmaxGpu},
    {"SoftmaxGrad", ops::SoftmaxGradGpu},
    {"Softplus", Unary<PointwiseFunction::kSoftplus>},
    {"SoftplusGrad", UnaryGrad<PointwiseFunction::kSoftplus>},
    {"Softsign", Unary<PointwiseFunction::kSoftsign>},
    {"SoftsignGrad", UnaryGrad<PointwiseFunction::kSoftsign>},
    {"SparseSoftmaxCrossEntropyWithLogits", ops::SparseSoftmaxCrossEntropyWithLogitsGpu},
    {"Sqrt", Unary<PointwiseFunction::kSqrt>},
    {"SqrtGrad", UnaryGrad<PointwiseFunction::kSqrt>},
    {"SquareSum", ops::SquareSumGpu},
    {"Sub", ops::SubGpu},
    {"Sum", ops::SumGpu},
    {"SumGrad", ops::SumGradGpu},
    {"Tanh", ops::TanhGpu},
    {"TanhGrad", ops::TanhGradGpu},
    {"ThresholdedRelu", Unary<PointwiseFunction::kThresholdedRelu>},
    {"ThresholdedReluGrad", UnaryGrad<PointwiseFunction::kThresholdedRelu>},
    {"Transpose", ops::TransposeGpu},
    {"TruncateDiv", ops::TruncateDivGpu},
};
// clang-format on

#ifdef SPILLWAY_WITH_CUDA
// Kernels that use NVIDIA's libraries, whose headers come with CUDA. Sorted by
// name.
constexpr std::pair<std::string_view, KernelFactory> kGpuLibraryKernels[] = {
    {"BatchMatMul", ops::BatchMatMulGpu},
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

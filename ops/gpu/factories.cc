#include "ops/gpu/factories.h"

#include <string_view>
#include <utility>

namespace spillway {
namespace {

// Sorted by name, one a line.
// clang-format off
constexpr std::pair<std::string_view, KernelFactory> kGpuKernels[] = {
    {"Add", ops::AddGpu},
    {"AddN", ops::AddNGpu},
    {"ApplyAdam", ops::ApplyAdamGpu},
    {"ApplyGradientDescent", ops::ApplyGradientDescentGpu},
    {"ApplyMomentum", ops::ApplyMomentumGpu},
    {"ApplyRMSProp", ops::ApplyRMSPropGpu},
    {"ArgMax", ops::ArgMaxGpu},
    {"AssignAdd", ops::AssignAddGpu},
    {"BiasAdd", ops::BiasAddGpu},
    {"Cast", ops::CastGpu},
    {"Concat", ops::ConcatGpu},
    {"Dropout", ops::DropoutGpu},
    {"DropoutGrad", ops::DropoutGpu},
    {"Elu", ops::EluGpu},
    {"EluGrad", ops::EluGradGpu},
    {"InTopK", ops::InTopKGpu},
    {"MeanGrad", ops::MeanGradGpu},
    {"Mul", ops::MulGpu},
    {"Pad", ops::PadGpu},
    {"Relu", ops::ReluGpu},
    {"Relu6", ops::Relu6Gpu},
    {"Relu6Grad", ops::Relu6GradGpu},
    {"ReluGrad", ops::ReluGradGpu},
    {"ScaleRows", ops::ScaleRowsGpu},
    {"Sigmoid", ops::SigmoidGpu},
    {"SigmoidGrad", ops::SigmoidGradGpu},
    {"Slice", ops::SliceGpu},
    {"Sub", ops::SubGpu},
    {"SumGrad", ops::SumGradGpu},
    {"Tanh", ops::TanhGpu},
    {"TanhGrad", ops::TanhGradGpu},
    {"Transpose", ops::TransposeGpu},
};
// clang-format on

}  // namespace

void AddGpuKernels(KernelRegistry& kernels) {
  for (const auto& [op, factory] : kGpuKernels) {
    kernels.Add(op, DeviceKind::kCuda, factory);
  }
}

}  // namespace spillway

#include "ops/gpu/factories.h"

#include <string_view>
#include <utility>

namespace spillway {
namespace {

// Sorted by name.
constexpr std::pair<std::string_view, KernelFactory> kGpuKernels[] = {
    {"Elu", ops::EluGpu},
    {"EluGrad", ops::EluGradGpu},
    {"Relu", ops::ReluGpu},
    {"Relu6", ops::Relu6Gpu},
    {"Relu6Grad", ops::Relu6GradGpu},
    {"ReluGrad", ops::ReluGradGpu},
    {"Sigmoid", ops::SigmoidGpu},
    {"SigmoidGrad", ops::SigmoidGradGpu},
    {"Tanh", ops::TanhGpu},
    {"TanhGrad", ops::TanhGradGpu},
};

}  // namespace

void AddGpuKernels(KernelRegistry& kernels) {
  for (const auto& [op, factory] : kGpuKernels) {
    kernels.Add(op, DeviceKind::kCuda, factory);
  }
}

}  // namespace spillway

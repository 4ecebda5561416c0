// The GPU's kernels, with their CUDA sources compiled as C++
// (tests/support/cuda_emulation.h).
#ifndef SPILLWAY_TESTS_OPS_GPU_EMULATED_KERNEL_H_
#define SPILLWAY_TESTS_OPS_GPU_EMULATED_KERNEL_H_

#include <string>

#include "executor/kernel_registry.h"
#include "ops/gpu/factories.h"

namespace spillway::testing {

// Null for an op without a kernel here: most convolutions and products need
// NVIDIA's libraries, or fakes of them.
inline KernelFactory EmulatedKernel(const std::string& op) {
  static const KernelRegistry kernels = [] {
    KernelRegistry made;
    AddGpuKernels(made);
    return made;
  }();
  return kernels.Find(op, DeviceKind::kCuda);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_EMULATED_KERNEL_H_

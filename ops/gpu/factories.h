// The factories of all GPU kernels, each in the file <op>_gpu.cc, and the list
// that says which op has which.
#ifndef SPILLWAY_OPS_GPU_FACTORIES_H_
#define SPILLWAY_OPS_GPU_FACTORIES_H_

#include "executor/kernel_registry.h"
#include "ops/op.h"

namespace spillway {

// Adds a kernel of DeviceKind::kCuda for every op that has one.
void AddGpuKernels(KernelRegistry& kernels);

namespace ops {

NewKernel EluGpu(const KernelRequest& node);
NewKernel EluGradGpu(const KernelRequest& node);
NewKernel ReluGpu(const KernelRequest& node);
NewKernel Relu6Gpu(const KernelRequest& node);
NewKernel Relu6GradGpu(const KernelRequest& node);
NewKernel ReluGradGpu(const KernelRequest& node);
NewKernel SigmoidGpu(const KernelRequest& node);
NewKernel SigmoidGradGpu(const KernelRequest& node);
NewKernel TanhGpu(const KernelRequest& node);
NewKernel TanhGradGpu(const KernelRequest& node);

}  // namespace ops
}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_FACTORIES_H_

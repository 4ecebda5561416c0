// The factories of all GPU kernels, each defined in the file <op>_gpu.cc, and
// the table of the ops that have one.
#ifndef SPILLWAY_OPS_GPU_FACTORIES_H_
#define SPILLWAY_OPS_GPU_FACTORIES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/kernel_registry.h"
#include "ops/common/unary_functions.h"
#include "ops/op.h"

namespace spillway {

// Adds a kernel of DeviceKind::kCuda for every op that has one. Kernels that
// call NVIDIA's libraries are included only with SPILLWAY_WITH_CUDA.
void AddGpuKernels(KernelRegistry& kernels);

// "cuDNN 9.13.1, cuBLASLt 13.0.2". Errors: UNAVAILABLE without them. Defined
// only with SPILLWAY_WITH_CUDA.
absl::StatusOr<std::string> GpuLibraries();

// Makes their handles for the current device. Defined only with
// SPILLWAY_WITH_CUDA.
absl::Status OpenGpuLibraries();

namespace ops {

NewKernel AccumulateGradientGpu(const KernelRequest& node);
NewKernel AddGpu(const KernelRequest& node);
NewKernel AddNGpu(const KernelRequest& node);
NewKernel AllReduceGpu(const KernelRequest& node);
NewKernel ApplyAdagradGpu(const KernelRequest& node);
NewKernel ApplyAdamGpu(const KernelRequest& node);
NewKernel ApplyGradientDescentGpu(const KernelRequest& node);
NewKernel ApplyLarsGpu(const KernelRequest& node);
NewKernel ApplyMomentumGpu(const KernelRequest& node);
NewKernel ApplyRMSPropGpu(const KernelRequest& node);
NewKernel ApplyVelocityGpu(const KernelRequest& node);
NewKernel ArgMaxGpu(const KernelRequest& node);
NewKernel AssignAddGpu(const KernelRequest& node);
NewKernel AvgPoolGpu(const KernelRequest& node);
NewKernel AvgPoolGradGpu(const KernelRequest& node);
NewKernel BatchMatMulGpu(const KernelRequest& node);
NewKernel BiasAddGpu(const KernelRequest& node);
NewKernel BiasAddGradGpu(const KernelRequest& node);
NewKernel BroadcastToGpu(const KernelRequest& node);
NewKernel CastGpu(const KernelRequest& node);
NewKernel ClipByValueGpu(const KernelRequest& node);
NewKernel ConcatGpu(const KernelRequest& node);
NewKernel ConcatIntoGpu(const KernelRequest& node);
NewKernel ConvBackpropFilterGpu(const KernelRequest& node);
NewKernel ConvBackpropInputGpu(const KernelRequest& node);
NewKernel ConvGpu(const KernelRequest& node);
NewKernel ConvTransposeGpu(const KernelRequest& node);
NewKernel DropoutGpu(const KernelRequest& node);
NewKernel EluGpu(const KernelRequest& node);
NewKernel EluGradGpu(const KernelRequest& node);
NewKernel BatchNormApplyGpu(const KernelRequest& node);
NewKernel EqualGpu(const KernelRequest& node);
NewKernel FusedBatchNormGpu(const KernelRequest& node);
NewKernel FusedBatchNormGradGpu(const KernelRequest& node);
NewKernel GatherGpu(const KernelRequest& node);
NewKernel GatherGradGpu(const KernelRequest& node);
NewKernel GreaterShareGpu(const KernelRequest& node);
NewKernel GroupNormGpu(const KernelRequest& node);
NewKernel GroupNormGradGpu(const KernelRequest& node);
NewKernel InTopKGpu(const KernelRequest& node);
NewKernel LayerNormGpu(const KernelRequest& node);
NewKernel LayerNormGradGpu(const KernelRequest& node);
NewKernel LessEqualGpu(const KernelRequest& node);
NewKernel LessGpu(const KernelRequest& node);
NewKernel LogicalAndGpu(const KernelRequest& node);
NewKernel LogicalOrGpu(const KernelRequest& node);
NewKernel LogicalXorGpu(const KernelRequest& node);
NewKernel LrnGpu(const KernelRequest& node);
NewKernel LrnGradGpu(const KernelRequest& node);
NewKernel MatMulGpu(const KernelRequest& node);
NewKernel MaxGpu(const KernelRequest& node);
NewKernel MaxPoolGpu(const KernelRequest& node);
NewKernel MaxPoolGradGpu(const KernelRequest& node);
NewKernel MaximumGpu(const KernelRequest& node);
NewKernel MeanGpu(const KernelRequest& node);
NewKernel MeanGradGpu(const KernelRequest& node);
NewKernel MinGpu(const KernelRequest& node);
NewKernel MinimumGpu(const KernelRequest& node);
NewKernel MulGpu(const KernelRequest& node);
NewKernel NormFactorGpu(const KernelRequest& node);
NewKernel PadGpu(const KernelRequest& node);
NewKernel PowGpu(const KernelRequest& node);
NewKernel ProdGpu(const KernelRequest& node);
NewKernel RealDivGpu(const KernelRequest& node);
NewKernel Relu6Gpu(const KernelRequest& node);
NewKernel Relu6GradGpu(const KernelRequest& node);
NewKernel ReluGpu(const KernelRequest& node);
NewKernel ReluGradGpu(const KernelRequest& node);
NewKernel ScaleRowsGpu(const KernelRequest& node);
NewKernel SelectGpu(const KernelRequest& node);
NewKernel SigmoidGpu(const KernelRequest& node);
NewKernel SigmoidGradGpu(const KernelRequest& node);
NewKernel SliceGpu(const KernelRequest& node);
NewKernel SoftmaxGpu(const KernelRequest& node);
NewKernel SoftmaxGradGpu(const KernelRequest& node);
NewKernel SparseSoftmaxCrossEntropyWithLogitsGpu(const KernelRequest& node);
NewKernel SquareSumGpu(const KernelRequest& node);
NewKernel SubGpu(const KernelRequest& node);
NewKernel SumGpu(const KernelRequest& node);
NewKernel SumGradGpu(const KernelRequest& node);
NewKernel TanhGpu(const KernelRequest& node);
NewKernel TanhGradGpu(const KernelRequest& node);
NewKernel TransposeGpu(const KernelRequest& node);
NewKernel TruncateDivGpu(const KernelRequest& node);

// Of each function of ops/pointwise/unary.h.
NewKernel UnaryGpu(PointwiseFunction function, const KernelRequest& node);
NewKernel UnaryGradGpu(PointwiseFunction function, const KernelRequest& node);

}  // namespace ops
}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_FACTORIES_H_

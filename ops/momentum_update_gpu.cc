#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/updates.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::MomentumUpdate> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double momentum, attributes.GetReal("momentum", 0.9));
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("weight_decay", 0));
  ASSIGN_OR_RETURN(const bool nesterov,
                   attributes.GetBool("use_nesterov", false));
  return gpu::MomentumUpdate{.momentum = static_cast<float>(momentum),
                             .weight_decay = static_cast<float>(decay),
                             .use_nesterov = nesterov};
}

}  // namespace

NewKernel ApplyMomentumGpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const gpu::MomentumUpdate options,
                   ReadOptions(node.attributes));
  return MakeGpuKernel(
      [=, n = node.inputs[0].num_elements()](const KernelContext& context) {
        gpu::MomentumUpdate update = options;
        update.accumulator = context.mutable_input<float>(1);
        return gpu::Update(context.stream, update,
                           {.n = n,
                            .gradient = context.input<float>(2),
                            .learning_rate = context.input<float>(3),
                            .variable = context.mutable_input<float>(0)});
      });
}

}  // namespace spillway::ops

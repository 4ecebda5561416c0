#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/updates.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::RmsPropUpdate> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("decay", 0.9));
  ASSIGN_OR_RETURN(const double momentum, attributes.GetReal("momentum", 0));
  ASSIGN_OR_RETURN(const double epsilon, attributes.GetReal("epsilon", 1e-10));
  ASSIGN_OR_RETURN(const double weight_decay,
                   attributes.GetReal("weight_decay", 0));
  return gpu::RmsPropUpdate{.decay = static_cast<float>(decay),
                            .momentum = static_cast<float>(momentum),
                            .epsilon = static_cast<float>(epsilon),
                            .weight_decay = static_cast<float>(weight_decay)};
}

}  // namespace

NewKernel ApplyRMSPropGpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const gpu::RmsPropUpdate options,
                   ReadOptions(node.attributes));
  return MakeGpuKernel(
      [=, n = node.inputs[0].num_elements()](const KernelContext& context) {
        gpu::RmsPropUpdate update = options;
        update.mean_square = context.mutable_input<float>(1);
        update.accumulator = context.mutable_input<float>(2);
        return gpu::Update(context.stream, update,
                           {.n = n,
                            .gradient = context.input<float>(3),
                            .learning_rate = context.input<float>(4),
                            .variable = context.mutable_input<float>(0)});
      });
}

}  // namespace spillway::ops

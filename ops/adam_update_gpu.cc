#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/updates.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::AdamUpdate> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double beta1, attributes.GetReal("beta1", 0.9));
  ASSIGN_OR_RETURN(const double beta2, attributes.GetReal("beta2", 0.999));
  ASSIGN_OR_RETURN(const double epsilon, attributes.GetReal("epsilon", 1e-8));
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("weight_decay", 0));
  return gpu::AdamUpdate{.beta1 = static_cast<float>(beta1),
                         .beta2 = static_cast<float>(beta2),
                         .epsilon = static_cast<float>(epsilon),
                         .weight_decay = static_cast<float>(decay)};
}

}  // namespace

NewKernel ApplyAdamGpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const gpu::AdamUpdate options, ReadOptions(node.attributes));
  return MakeGpuKernel(
      [=, n = node.inputs[0].num_elements()](const KernelContext& context) {
        gpu::AdamUpdate update = options;
        update.m = context.mutable_input<float>(1);
        update.v = context.mutable_input<float>(2);
        update.beta_power = context.mutable_input<float>(3);
        return gpu::Update(context.stream, update,
                           {.n = n,
                            .gradient = context.input<float>(4),
                            .learning_rate = context.input<float>(5),
                            .variable = context.mutable_input<float>(0)});
      });
}

}  // namespace spillway::ops

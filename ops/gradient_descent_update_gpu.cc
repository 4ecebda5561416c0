#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/updates.h"

namespace spillway::ops {

NewKernel ApplyGradientDescentGpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const double decay,
                   node.attributes.GetReal("weight_decay", 0));
  const gpu::GradientDescentUpdate update = {.weight_decay =
                                                 static_cast<float>(decay)};
  return MakeGpuKernel(
      [=, n = node.inputs[0].num_elements()](const KernelContext& context) {
        return gpu::Update(context.stream, update,
                           {.n = n,
                            .gradient = context.input<float>(1),
                            .learning_rate = context.input<float>(2),
                            .variable = context.mutable_input<float>(0)});
      });
}

}  // namespace spillway::ops

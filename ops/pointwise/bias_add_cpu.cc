#include "base/status_macros.h"
#include "ops/common/activation.h"
#include "ops/cpu/broadcast.h"
#include "ops/cpu/reduce.h"
#include "ops/pointwise/bias_add.h"

namespace spillway::ops {

NewKernel BiasAddCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(node.attributes));
  if (!has_relu) {
    return ChannelKernel(node, [](float x, float bias) { return x + bias; });
  }
  return ChannelKernel(node, [](float x, float bias) {
    const float y = x + bias;
    return y < 0 ? 0.0F : y;
  });
}

NewKernel BiasAddGradCpu(const KernelRequest& node) {
  const int64_t channels = node.outputs[0].num_elements();
  const Reduction sum = {.reduced = node.inputs[0].num_elements() / channels,
                         .inner = channels};
  const int threads = node.threads;
  return ForStorage(node.inputs[0], [&]<typename X>(X) -> NewKernel {
    return ForStorage(node.outputs[0], [&]<typename Y>(Y) -> NewKernel {
      const auto compute = [=](const KernelContext& context) {
        Reduce<X, Y>(sum, {.threads = threads,
                           .x = context.input<X>(0),
                           .workspace = static_cast<float*>(context.workspace),
                           .y = context.output<Y>(0)});
      };
      return MakeKernel(compute, WorkspaceBytes(sum));
    });
  });
}

}  // namespace spillway::ops

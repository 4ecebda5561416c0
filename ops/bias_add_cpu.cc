#include "base/status_macros.h"
#include "ops/bias_add.h"
#include "ops/common/activation.h"
#include "ops/cpu/broadcast.h"
#include "ops/cpu/reduce.h"

namespace spillway::ops {

NewKernel BiasAddCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(node.attributes));
  if (!has_relu) {
    return ChannelKernel(node, [](float x, float bias) { return x + bias; });
  }
  return ChannelKernel(node, [](float x, float bias) {
    const float y = x + bias;
    return y < 0 ? 0.0F : y;
  });
}

NewKernel BiasAddGradCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t channels = node.outputs[0].num_elements();
  const Reduction sum = {.reduced = node.inputs[0].num_elements() / channels,
                         .inner = channels};
  return MakeKernel(
      [=, threads = node.threads](const KernelContext& context) {
        Reduce(sum, {.threads = threads,
                     .x = context.input<float>(0),
                     .workspace = static_cast<float*>(context.workspace),
                     .y = context.output<float>(0)});
      },
      WorkspaceBytes(sum));
}

}  // namespace spillway::ops

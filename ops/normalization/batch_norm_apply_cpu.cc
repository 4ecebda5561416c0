#include "base/status_macros.h"
#include "ops/common/activation.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/normalize_rows.h"
#include "ops/normalization/batch_norm.h"

namespace spillway::ops {

// The workspace is scale * inv_std [C].
NewKernel BatchNormApplyCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const FusedActivation activation,
                            ReadActivation(node.attributes));
  const ChannelRows size(node.inputs[0].shape);
  const bool has_side = node.inputs.size() == 6;
  const int64_t x_stride = node.row_stride(0);
  const int threads = node.threads;
  return ForStorage(node.inputs[0], [=]<typename T>(T) -> NewKernel {
    const auto compute = [=](const KernelContext& context) {
      auto* factor = static_cast<float*>(context.workspace);
      for (int64_t c = 0; c < size.channels; ++c) {
        factor[c] = context.input<float>(1)[c] * context.input<float>(4)[c];
      }
      NormalizeRows<T>({.size = size,
                        .activation = activation,
                        .x = context.input<T>(0),
                        .x_stride = x_stride,
                        .side = has_side ? context.input<T>(5) : nullptr,
                        .mean = context.input<float>(3),
                        .factor = factor,
                        .offset = context.input<float>(2),
                        .y = context.output<T>(0)},
                       threads);
    };
    return MakeKernel(compute,
                      size.channels * static_cast<int64_t>(sizeof(float)));
  });
}

}  // namespace spillway::ops

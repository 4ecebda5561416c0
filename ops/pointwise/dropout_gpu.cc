#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/dropout.h"
#include "ops/pointwise/dropout.h"

namespace spillway::ops {

NewKernel DropoutGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const DropoutAttributes options,
                            ReadDropout(node.attributes));
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  const gpu::Dropout unkeyed = {
      .threshold = static_cast<int32_t>(std::ceil(options.rate * 0x1.0p24)),
      .scale = static_cast<float>(1 / (1 - options.rate))};
  return MakeGpuKernel(
      [=, dtype = x.dtype, n = x.num_elements()](const KernelContext& context) {
        gpu::Dropout dropout = unkeyed;
        dropout.layer_key =
            MixKeys(context.seed, static_cast<uint64_t>(options.seed));
        return gpu::RunDropout(
            context.stream, dropout, dtype,
            {.step = context.step,
             .key = static_cast<uint64_t*>(context.workspace),
             .x = context.inputs[0],
             .y = context.outputs[0]},
            n);
      },
      sizeof(uint64_t));
}

}  // namespace spillway::ops

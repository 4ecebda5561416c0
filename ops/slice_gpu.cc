#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"
#include "ops/slice.h"

namespace spillway::ops {

NewKernel SliceGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy copy, SliceCopy(node));
  return MakeGpuKernel(
      [box = MakeStridedBox(copy)](const KernelContext& context) {
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

}  // namespace spillway::ops

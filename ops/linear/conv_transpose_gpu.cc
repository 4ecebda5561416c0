#include <utility>

#include "base/status_macros.h"
#include "ops/common/conv.h"
#include "ops/gpu/conv/conv_kernel.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway::ops {

NewKernel ConvTransposeGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.outputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.outputs[0].shape, node.inputs[1].shape));
  return MakeGpuConvInputGradientKernel(node,
                                        {.geometry = std::move(conv),
                                         .x = kGpuConvOutput,
                                         .filter = 1,
                                         .y = 0,
                                         .dtype = node.outputs[0].dtype,
                                         .filter_dtype = node.inputs[1].dtype});
}

}  // namespace spillway::ops

#include <utility>

#include "base/status_macros.h"
#include "ops/common/conv.h"
#include "ops/gpu/conv/conv_kernel.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/linear/conv.h"

namespace spillway::ops {

NewKernel ConvGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.inputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.inputs[0].shape, node.inputs[1].shape));
  return MakeGpuConvKernel(node, {.geometry = std::move(conv),
                                  .x = 0,
                                  .filter = 1,
                                  .y = kGpuConvOutput,
                                  .dtype = node.inputs[0].dtype,
                                  .filter_dtype = node.inputs[1].dtype});
}

NewKernel ConvBackpropInputGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.outputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.outputs[0].shape, node.inputs[0].shape));
  const bool has_addend = node.inputs.size() > kConvAddend;
  return MakeGpuConvInputGradientKernel(
      node, {.geometry = std::move(conv),
             .x = kGpuConvOutput,
             .filter = 0,
             .y = 1,
             .dtype = node.outputs[0].dtype,
             .filter_dtype = node.inputs[0].dtype,
             .addend = has_addend ? kConvAddend : -1});
}

NewKernel ConvBackpropFilterGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.inputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.inputs[0].shape, node.outputs[0].shape));
  return MakeGpuConvFilterGradientKernel(
      node, {.geometry = std::move(conv),
             .x = 0,
             .filter = kGpuConvOutput,
             .y = 1,
             .dtype = node.inputs[0].dtype,
             .filter_dtype = node.outputs[0].dtype});
}

}  // namespace spillway::ops

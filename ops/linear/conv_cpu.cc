#include <utility>

#include "base/status_macros.h"
#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/linear/conv.h"

namespace spillway::ops {

NewKernel ConvCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.inputs[0].shape, node.inputs[1].shape));
  return MakeConvKernel({.geometry = std::move(conv),
                         .x = InputOf(node, 0),
                         .filter = InputOf(node, 1),
                         .y = OutputOf(node, 0),
                         .threads = node.threads},
                        node.algorithm);
}

NewKernel ConvBackpropInputCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.outputs[0].shape, node.inputs[0].shape));
  return MakeConvInputGradientKernel({.geometry = std::move(conv),
                                      .x = OutputOf(node, 0),
                                      .filter = InputOf(node, 0),
                                      .y = InputOf(node, 1),
                                      .threads = node.threads},
                                     node.algorithm);
}

NewKernel ConvBackpropFilterCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.inputs[0].shape, node.outputs[0].shape));
  return MakeConvFilterGradientKernel({.geometry = std::move(conv),
                                       .x = InputOf(node, 0),
                                       .filter = OutputOf(node, 0),
                                       .y = InputOf(node, 1),
                                       .threads = node.threads},
                                      node.algorithm);
}

}  // namespace spillway::ops

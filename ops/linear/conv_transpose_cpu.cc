#include <utility>

#include "base/status_macros.h"
#include "ops/common/conv.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/linear/conv_transpose.h"

namespace spillway::ops {

NewKernel ConvTransposeCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(
      ConvGeometry conv,
      ReadConv(node.attributes, node.outputs[0].shape, node.inputs[1].shape));
  return MakeConvInputGradientKernel({.geometry = std::move(conv),
                                      .x = OutputOf(node, 0),
                                      .filter = InputOf(node, 1),
                                      .y = InputOf(node, 0),
                                      .threads = node.threads},
                                     node.algorithm);
}

}  // namespace spillway::ops

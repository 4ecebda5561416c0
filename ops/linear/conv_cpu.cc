#include <cstdint>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "ops/common/conv.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/storage.h"
#include "ops/linear/conv.h"

namespace spillway::ops {
namespace {

// Runs `gradient`, which adds to dx, where dx is the addend already or becomes
// a copy of it first.
std::unique_ptr<Kernel> AddingToAddend(const KernelRequest& node,
                                       std::unique_ptr<Kernel> gradient) {
  const int64_t workspace_bytes = gradient->workspace_bytes();
  return MakeKernel(
      [=, threads = node.threads, num_bytes = node.outputs[0].num_bytes(),
       gradient = std::move(gradient)](const KernelContext& context) {
        const void* addend = context.inputs[kConvAddend];
        if (addend != context.outputs[0]) {
          CopyBytes(threads, num_bytes, addend, context.outputs[0]);
        }
        return gradient->Run(context);
      },
      workspace_bytes);
}

}  // namespace

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
  const bool has_addend = node.inputs.size() > kConvAddend;
  SPILLWAY_ASSIGN_OR_RETURN(
      std::unique_ptr<Kernel> gradient,
      MakeConvInputGradientKernel({.geometry = std::move(conv),
                                   .x = OutputOf(node, 0),
                                   .filter = InputOf(node, 0),
                                   .y = InputOf(node, 1),
                                   .threads = node.threads,
                                   .adds_to_x = has_addend},
                                  node.algorithm));
  return has_addend ? AddingToAddend(node, std::move(gradient))
                    : std::move(gradient);
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

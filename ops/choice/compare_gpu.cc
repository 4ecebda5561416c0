#include <array>

#include "ops/choice/compare.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/choose.h"
#include "ops/gpu/repeated_over.h"

namespace spillway::ops {
namespace {

NewKernel NewCompare(const KernelRequest& node, choice::Test test) {
  const std::array<Shape, 2> shapes = {node.inputs[0].shape,
                                       node.inputs[1].shape};
  return MakeGpuKernel([=, dtype = node.inputs[0].dtype,
                        dims = RepeatedOver(shapes)](
                           const KernelContext& context) {
    return gpu::Compare(context.stream, test, dtype, dims, context.inputs[0],
                        context.inputs[1], context.output<bool>(0));
  });
}

}  // namespace

NewKernel EqualGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kEqual);
}

NewKernel LessGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kLess);
}

NewKernel LessEqualGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kLessEqual);
}

NewKernel LogicalAndGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kAnd);
}

NewKernel LogicalOrGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kOr);
}

NewKernel LogicalXorGpu(const KernelRequest& node) {
  return NewCompare(node, choice::Test::kXor);
}

}  // namespace spillway::ops

#include "ops/choice/compare.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/choose.h"
#include "ops/gpu/repeated_over.h"

namespace spillway::ops {
namespace {

NewKernel NewCompare(const KernelRequest& node, choice::Test test) {
  return RepeatedPairKernel(node, [test](gpu::StreamHandle stream, DType dtype,
                                         const gpu::RepeatedDims& dims,
                                         const void* a, const void* b,
                                         void* y) {
    return gpu::Compare(stream, test, dtype, dims, a, b, static_cast<bool*>(y));
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

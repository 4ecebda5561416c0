#include "base/status_macros.h"
#include "ops/cpu/expect_float32.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/matmul.h"

namespace spillway::ops {

NewKernel MatMulCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(const MatMulSizes sizes,
                   ReadMatMul(node.attributes, node.inputs));
  return MakeMatMulKernel({.m = sizes.m,
                           .k = sizes.k,
                           .n = sizes.n,
                           .transpose_a = sizes.transpose_a,
                           .transpose_b = sizes.transpose_b},
                          node.threads);
}

}  // namespace spillway::ops

#include "base/status_macros.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/matmul.h"

namespace spillway::ops {

NewKernel MatMulCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(CheckStorage(node));
  ASSIGN_OR_RETURN(const MatMulSizes sizes,
                   ReadMatMul(node.attributes, node.inputs));
  return MakeMatMulKernel({.m = sizes.m,
                           .k = sizes.k,
                           .n = sizes.n,
                           .transpose_a = sizes.transpose_a,
                           .transpose_b = sizes.transpose_b,
                           .a_dtype = node.inputs[0].dtype,
                           .b_dtype = node.inputs[1].dtype,
                           .y_dtype = node.outputs[0].dtype},
                          node.threads);
}

}  // namespace spillway::ops

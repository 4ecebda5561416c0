#include "base/status_macros.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/linear/batch_matmul.h"

namespace spillway::ops {

NewKernel BatchMatMulCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(const BatchMatMulSizes sizes,
                            ReadBatchMatMul(node.attributes, node.inputs));
  const DType dtype = node.inputs[0].dtype;
  return MakeMatMulKernel({.batch = sizes.batch,
                           .repeats_a = sizes.repeats_a,
                           .repeats_b = sizes.repeats_b,
                           .m = sizes.m,
                           .k = sizes.k,
                           .n = sizes.n,
                           .transpose_a = sizes.transpose_a,
                           .transpose_b = sizes.transpose_b,
                           .a_dtype = dtype,
                           .b_dtype = dtype,
                           .y_dtype = dtype},
                          node.threads);
}

}  // namespace spillway::ops

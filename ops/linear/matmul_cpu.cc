#include "base/status_macros.h"
#include "ops/common/activation.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/linear/matmul.h"

namespace spillway::ops {

NewKernel MatMulCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  SPILLWAY_ASSIGN_OR_RETURN(const MatMulSizes sizes,
                            ReadMatMul(node.attributes, node.inputs));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(node.attributes));
  MatMulSpec spec = {.m = sizes.m,
                     .k = sizes.k,
                     .n = sizes.n,
                     .transpose_a = sizes.transpose_a,
                     .transpose_b = sizes.transpose_b,
                     .a_dtype = node.inputs[0].dtype,
                     .b_dtype = node.inputs[1].dtype,
                     .y_dtype = node.outputs[0].dtype,
                     .has_relu = has_relu};
  if (node.inputs.size() > kMatMulBias) {
    spec.bias = kMatMulBias;
    spec.bias_dtype = node.inputs[kMatMulBias].dtype;
  }
  return MakeMatMulKernel(spec, node.threads);
}

}  // namespace spillway::ops

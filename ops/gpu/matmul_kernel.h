// Matrix products of row-major matrices on the GPU, by cuBLASLt: for MatMul and
// for other ops that are one.
//
// If any of a, b and y has a shorter dtype, a float32 operand is first rounded
// to it in the workspace, and so is a float32 bias if y has the shorter dtype.
// If all are float32, operands are rounded to TF32 if MathOptions allow it.
// Sums are float32, even if cuBLASLt splits them into parts, in an order that
// is the same in every run.
#ifndef SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_
#define SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_

#include <cstdint>

#include "executor/kernel.h"
#include "graph/dtype.h"
#include "ops/op.h"

namespace spillway {

// Output 0, [m, n], is a times b, where a is [m, k], or [k, m] if transposed,
// and b is [k, n], or [n, k] if transposed; plus a bias of [n], and clamped to
// at least 0 with has_relu. Or plus an addend like y, which may be the output
// itself; it is added to the sum before that is rounded.
//
// With a batch, these are the last two dimensions of tensors that have so many
// matrices, one after the other; one operand may have a single matrix, which is
// multiplied with each of the other's.
struct GpuMatMulSpec {
  int64_t batch = 1;
  bool repeats_a = false;  // a single matrix
  bool repeats_b = false;
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  int a = 0;  // the input that is a
  int b = 1;
  DType a_dtype = DType::kFloat32;  // each float32 or the same shorter one
  DType b_dtype = DType::kFloat32;
  DType y_dtype = DType::kFloat32;
  int bias = -1;  // the input that is the bias; -1: none
  DType bias_dtype = DType::kFloat32;
  bool has_relu = false;
  int addend = -1;  // the input, of y's type, that is added; -1: none
};

// Lists the first eight algorithms that cuBLASLt's heuristic suggests with at
// most 32 MiB of cuBLASLt workspace: "heuristic 0", "heuristic 1", ... . Of the
// node, only math and algorithm are used. Errors: UNAVAILABLE without the
// library; UNIMPLEMENTED if it has no algorithm; INVALID_ARGUMENT for an
// algorithm that is not listed.
NewKernel MakeGpuMatMulKernel(const KernelRequest& node,
                              const GpuMatMulSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_

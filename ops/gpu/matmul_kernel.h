// Matrix products of row-major matrices on the GPU, by cuBLASLt: for MatMul
// and for what is one.
//
// Where a, b or y is bfloat16, an operand that is float32 is rounded to
// bfloat16 in the workspace first. Sums are float32, also where cuBLASLt cuts
// one into parts.
#ifndef SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_
#define SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/op.h"

namespace spillway {

// Output 0, [m, n], is a times b, where a is [m, k], or [k, m] if transposed,
// and b is [k, n], or [n, k] if transposed.
struct GpuMatMulSpec {
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  int a = 0;  // input that holds it
  int b = 1;
  DType a_dtype = DType::kFloat32;  // each float32 or bfloat16
  DType b_dtype = DType::kFloat32;
  DType y_dtype = DType::kFloat32;
};

// Chooses cuBLASLt's first algorithm with at most 32 MiB of workspace. Errors:
// UNAVAILABLE without the library; UNIMPLEMENTED where it has no algorithm.
NewKernel MakeGpuMatMulKernel(const GpuMatMulSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_MATMUL_KERNEL_H_

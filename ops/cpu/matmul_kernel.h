// Matrix products of row-major matrices, for MatMul and for other ops that are
// one, in float32 or bfloat16 with sums in float32.
//
// If any of a, b and y is bfloat16, a float32 operand is first rounded to
// bfloat16 in the workspace.
//
// oneDNN's matmul reads both matrices in their stored layout; its workspace is
// a few blocks of them. (Its sgemm and inner product are no faster, and
// allocate internally in every run.)
#ifndef SPILLWAY_OPS_CPU_MATMUL_KERNEL_H_
#define SPILLWAY_OPS_CPU_MATMUL_KERNEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/dtype.h"

namespace spillway {

// Output 0, [m, n], is a times b, where a is [m, k], or [k, m] if transposed,
// and b is [k, n], or [n, k] if transposed; plus a bias of [n], and clamped to
// at least 0 with has_relu.
//
// With a batch, these are the last two dimensions of tensors that have so many
// matrices, one after the other; one operand may have a single matrix, which is
// multiplied with each of the other's.
struct MatMulSpec {
  int64_t batch = 0;       // 0: no batch
  bool repeats_a = false;  // a single matrix
  bool repeats_b = false;
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  int a = 0;  // the input that is a
  int b = 1;
  DType a_dtype = DType::kFloat32;  // each float32 or bfloat16
  DType b_dtype = DType::kFloat32;
  DType y_dtype = DType::kFloat32;
  int bias = -1;  // the input that is the bias; -1: none
  DType bias_dtype = DType::kFloat32;
  bool has_relu = false;
  bool adds_to_y = false;  // y += a times b, in place of y = a times b
};

// Errors: UNIMPLEMENTED for float16, and for bfloat16 on a CPU without AVX-512.
absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulKernel(const MatMulSpec& spec,
                                                         int threads);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_MATMUL_KERNEL_H_

// MatMul: y = activation(a b + bias), floating matrices.
//
// a: [M, K], or [K, M] with transpose_a. b: [K, N], or [N, K] with transpose_b.
// bias: [N], optional. y: [M, N], of the attribute dtype (default: a's).
// activation: "none" (default) or "relu".
//
// Each of a, b and y is float32 or of one shorter dtype. If any has the shorter
// dtype, operands are multiplied in it (a float32 operand is rounded to it);
// sums are float32. bias has y's dtype or float32, and is added to the sum
// before the sum is rounded to y's dtype; on a GPU the bias is first rounded to
// y's dtype. So on a CPU a float32 y is bitwise identical to MatMul, BiasAdd; a
// shorter y is rounded once instead of twice.
#ifndef SPILLWAY_OPS_LINEAR_MATMUL_H_
#define SPILLWAY_OPS_LINEAR_MATMUL_H_

#include <cstdint>
#include <span>

#include "ops/op.h"

namespace spillway::ops {

struct MatMulSizes {
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};

// The input that is the bias, if there is one.
inline constexpr int kMatMulBias = 2;

// Errors: INVALID_ARGUMENT for operands that do not match.
absl::StatusOr<MatMulSizes> ReadMatMul(const Attributes& attributes,
                                       std::span<const TensorType> inputs);

Op MatMul();

NewKernel MatMulCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LINEAR_MATMUL_H_

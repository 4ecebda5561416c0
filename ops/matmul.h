// MatMul: y = a b, floating matrices.
//
// a: [M, K], or [K, M] with transpose_a. b: [K, N], or [N, K] with transpose_b.
// y: [M, N], of the attribute dtype (default: a's).
//
// Each of the three is float32 or of one shorter dtype. If any is of the
// shorter one, operands are multiplied in it (a float32 operand is rounded to
// it); sums are float32.
#ifndef SPILLWAY_OPS_MATMUL_H_
#define SPILLWAY_OPS_MATMUL_H_

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

// Errors: INVALID_ARGUMENT for operands that do not match.
absl::StatusOr<MatMulSizes> ReadMatMul(const Attributes& attributes,
                                       std::span<const TensorType> inputs);

Op MatMul();

NewKernel MatMulCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_MATMUL_H_

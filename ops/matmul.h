// MatMul: y = a b, matrices of one floating dtype.
//
// a: [M, K], or [K, M] with transpose_a. b: [K, N], or [N, K] with transpose_b.
// y: [M, N].
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

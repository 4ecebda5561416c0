// BatchMatMul: y = a b, matrix by matrix.
//
// a: [batch..., M, K], or [batch..., K, M] with transpose_a. b: [batch..., K,
// N], or [batch..., N, K] with transpose_b. y: [batch..., M, N]. a and b are
// floating, of one dtype, and have at least two dimensions. Their batch
// dimensions are equal, or one of them has a single matrix: none, or all of
// size 1. Sums are float32.
#ifndef SPILLWAY_OPS_LINEAR_BATCH_MATMUL_H_
#define SPILLWAY_OPS_LINEAR_BATCH_MATMUL_H_

#include <cstdint>
#include <span>

#include "ops/op.h"

namespace spillway::ops {

struct BatchMatMulSizes {
  int64_t batch = 1;
  bool repeats_a = false;
  bool repeats_b = false;
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  Shape y = {};
};

// Errors: INVALID_ARGUMENT for operands that do not match.
absl::StatusOr<BatchMatMulSizes> ReadBatchMatMul(
    const Attributes& attributes, std::span<const TensorType> inputs);

Op BatchMatMul();

NewKernel BatchMatMulCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LINEAR_BATCH_MATMUL_H_

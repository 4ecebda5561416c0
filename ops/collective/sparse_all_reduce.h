// SparseAllReduce(x..., weight) -> y...: the sum over all ranks of weight * x,
// of the elements that each rank sends, with its own weight and x:
//
//   x, a bucket of 8     1 -5  2 .5  4 -.1  0  3      topk_fraction 0.25
//   sent as 2 pairs        -5        4                of place and value
//
// Attributes: topk_fraction, in (0, 1]: of the n elements of all tensors of the
// node (a bucket), the ceil(topk_fraction * n) of the largest magnitude; of
// equal ones those that come first. 0 (default): instead, all elements whose
// magnitude is at least min_magnitude (0). NaN is sent before all numbers.
//
// ErrorFeedbackAllReduce((x, residual)..., weight) -> y...: the same of
// x + residual. What is not sent stays in the residual, a variable, for the
// next step: x + residual = sent + new residual, exactly. Each y may be written
// over its x.
//
// All float32; weight: a scalar that all groups share. Sums are added in the
// same order on all ranks. A node takes scratch for pairs, however many ranks
// there are: where their pairs do not fit at once, they are exchanged in
// rounds.
// Source: backward_and_sparse_update of Apache SINGA's DistOpt; error feedback:
// Seide et al., Interspeech 2014.
#ifndef SPILLWAY_OPS_COLLECTIVE_SPARSE_ALL_REDUCE_H_
#define SPILLWAY_OPS_COLLECTIVE_SPARSE_ALL_REDUCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "ops/op.h"

namespace spillway::ops {

Op SparseAllReduce();
Op ErrorFeedbackAllReduce();

// What a rank sends.
struct Sparsity {
  double topk_fraction = 0;
  float min_magnitude = 0;

  // Elements that topk_fraction sends of `elements`.
  int64_t Top(int64_t elements) const;
};
// INVALID_ARGUMENT naming the attribute.
absl::StatusOr<Sparsity> ReadSparsity(const Attributes& attributes);

NewKernel SparseAllReduceCpu(const KernelRequest& node);
NewKernel ErrorFeedbackAllReduceCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_COLLECTIVE_SPARSE_ALL_REDUCE_H_

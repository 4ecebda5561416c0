// Which gradients of a step are all-reduced together.
//
//   backward phase   g9   g8 g7   g6 g5 g4   g3 ...
//   buckets          [ 0 ][   1  ][    2    ][ 3 ...     one all-reduce each
//
// A pure function of the sizes: the same on all ranks, whatever their budgets
// and plans.
// Sources: the sizes of 25 MiB, and 1 MiB for the first, which has the shortest
// wait, are those of PyTorch's DistributedDataParallel (Li et al., VLDB 2020);
// the rule by elements is that of Apache SINGA's DistOpt.
#ifndef SPILLWAY_TRAINING_WORKERS_BUCKET_PLAN_H_
#define SPILLWAY_TRAINING_WORKERS_BUCKET_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace spillway {

struct BucketSpec {
  // A gradient starts a new bucket if the bucket would have more bytes with it;
  // a larger one has a bucket of its own.
  int64_t bytes = int64_t{25} << 20;
  int64_t first_bytes = int64_t{1} << 20;
  // SINGA's rule instead, if positive: a gradient of more elements has a bucket
  // of its own, at once; the others are collected until they have more elements
  // together.
  int64_t elements = 0;
};

// INVALID_ARGUMENT naming the field, unless the bytes are 4 to 2 GiB and the
// elements 0 to 2^29.
absl::Status CheckBucketSpec(const BucketSpec& spec);

// The gradients of each bucket, by their places in `elements`, in order. The
// buckets are in the order in which their last gradient exists. `elements`: of
// each gradient, float32, in the order of the backward phase.
std::vector<std::vector<size_t>> PlanBuckets(std::span<const int64_t> elements,
                                             const BucketSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_BUCKET_PLAN_H_

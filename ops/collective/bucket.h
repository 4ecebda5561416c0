// The tensors that one AllReduce node reduces together.
#ifndef SPILLWAY_OPS_COLLECTIVE_BUCKET_H_
#define SPILLWAY_OPS_COLLECTIVE_BUCKET_H_

#include <cstdint>
#include <vector>

#include "executor/kernel.h"
#include "graph/dtype.h"
#include "ops/collective/all_reduce.h"

namespace spillway::ops {

struct Bucket {
  std::vector<int64_t> counts = {};  // elements of each tensor
  WireAttributes wire = {};

  int64_t elements() const {
    int64_t sum = 0;
    for (const int64_t count : counts) sum += count;
    return sum;
  }
  // Whether the sum is made in the workspace; else in the only output.
  bool is_packed() const {
    return counts.size() > 1 || wire.dtype != DType::kFloat32;
  }
  int64_t workspace_bytes() const {
    return is_packed() ? elements() * SizeOf(wire.dtype) : 0;
  }
};

inline Bucket BucketOf(const KernelRequest& node, const WireAttributes& wire) {
  Bucket bucket = {.wire = wire};
  for (const TensorType& output : node.outputs) {
    bucket.counts.push_back(output.num_elements());
  }
  return bucket;
}

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_COLLECTIVE_BUCKET_H_

// What surrounds an all-reduce on the GPU: tensors of float32 become one array
// of the wire's type, and its sums become tensors again
// (ops/collective/all_reduce.h).
//
//   x0 [4]   x1 [2]   --PackBucket-->   packed [6]   --UnpackBucket-->  y0, y1
//
// One launch does up to kMostBucketParts tensors: blockIdx.y is the tensor.
#ifndef SPILLWAY_OPS_GPU_KERNEL_ALL_REDUCE_H_
#define SPILLWAY_OPS_GPU_KERNEL_ALL_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct BucketPart {
  int64_t first = 0;  // of its elements in the packed array
  int64_t n = 0;
  const float* x = nullptr;  // of PackBucket
  float* y = nullptr;        // of UnpackBucket
};

// An argument of a launch, so at most 4 KiB.
inline constexpr size_t kMostBucketParts = 64;
struct BucketParts {
  BucketPart parts[kMostBucketParts] = {};
  int count = 0;
};

// packed[first + i] <- scale * *weight * clipped x[i]. clip 0: not clipped.
// `wire`: float32, float16 or bfloat16. A float32 `packed` may be x.
LaunchError PackBucket(StreamHandle stream, const BucketParts& bucket,
                       DType wire, float scale, float clip, const float* weight,
                       void* packed);

// y[i] <- factor * packed[first + i]
LaunchError UnpackBucket(StreamHandle stream, const BucketParts& bucket,
                         DType wire, float factor, const void* packed);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_ALL_REDUCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "comm/communicator.h"
#include "ops/collective/all_reduce.h"
#include "ops/collective/bucket.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/all_reduce.h"

namespace spillway::ops {
namespace {

// launch(parts) for the tensors of the bucket, as many at once as can be.
template <typename Fn>
absl::Status ForParts(const KernelContext& context, const Bucket& bucket,
                      const Fn& launch) {
  int64_t first = 0;
  for (size_t i = 0; i < bucket.counts.size();) {
    gpu::BucketParts parts;
    const size_t end =
        std::min(bucket.counts.size(), i + gpu::kMostBucketParts);
    for (; i < end; ++i) {
      parts.parts[parts.count++] = {.first = first,
                                    .n = bucket.counts[i],
                                    .x = context.input<float>(i),
                                    .y = context.output<float>(i)};
      first += bucket.counts[i];
    }
    SPILLWAY_RETURN_IF_ERROR(LaunchStatus(launch(parts)));
  }
  return absl::OkStatus();
}

absl::Status Reduce(const KernelContext& context, const Bucket& bucket) {
  const WireAttributes& wire = bucket.wire;
  const auto* const weight = context.input<float>(bucket.counts.size());
  void* const packed =
      bucket.is_packed() ? context.workspace : context.output<float>(0);
  SPILLWAY_RETURN_IF_ERROR(
      ForParts(context, bucket, [&](const gpu::BucketParts& parts) {
        return gpu::PackBucket(context.stream, parts, wire.dtype, wire.scale,
                               wire.clip, weight, packed);
      }));
  SPILLWAY_RETURN_IF_ERROR(context.communicator->streams()->AllReduce(
      packed, bucket.elements(), wire.dtype, ReduceOp::kSum, context.stream));
  if (!bucket.is_packed() && wire.scale == 1) return absl::OkStatus();
  return ForParts(context, bucket, [&](const gpu::BucketParts& parts) {
    return gpu::UnpackBucket(context.stream, parts, wire.dtype, 1 / wire.scale,
                             packed);
  });
}

}  // namespace

// Requires: a communicator with streams (the executor has checked it).
NewKernel AllReduceGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const WireAttributes wire,
                            ReadWireAttributes(node.attributes));
  const Bucket bucket = BucketOf(node, wire);
  return MakeKernel(
      [bucket](const KernelContext& context) {
        return Reduce(context, bucket);
      },
      bucket.workspace_bytes());
}

}  // namespace spillway::ops

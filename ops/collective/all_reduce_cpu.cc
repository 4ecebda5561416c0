#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/status_macros.h"
#include "comm/communicator.h"
#include "ops/collective/all_reduce.h"
#include "ops/collective/bucket.h"
#include "ops/common/clip.h"
#include "ops/common/function_kernel.h"
#include "ops/common/storage.h"

namespace spillway::ops {
namespace {

// to[i] <- factor clipped x[i], on the wire. The arrays are the same or do not
// overlap.
template <typename Wire>
void Pack(const float* x, int64_t count, float factor, float clip, Wire* to) {
  const float limit = clip > 0 ? clip : std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Store<Wire>(factor * Clipped(x[i], limit));
  }
}

template <typename Wire>
void Unpack(const Wire* from, int64_t count, float factor, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = factor * Load(from[i]);
}

template <typename Wire>
absl::Status ReduceAs(const KernelContext& context, const Bucket& bucket) {
  const float scale = bucket.wire.scale;
  const float factor = context.input<float>(bucket.counts.size())[0] * scale;
  auto* const packed = static_cast<Wire*>(
      bucket.is_packed() ? context.workspace : context.output<float>(0));
  Wire* to = packed;
  for (size_t i = 0; i < bucket.counts.size(); ++i) {
    Pack(context.input<float>(i), bucket.counts[i], factor, bucket.wire.clip,
         to);
    to += bucket.counts[i];
  }
  SPILLWAY_RETURN_IF_ERROR(context.communicator->AllReduce(
      packed, bucket.elements(), bucket.wire.dtype));
  if (!bucket.is_packed() && scale == 1) return absl::OkStatus();
  const Wire* from = packed;
  for (size_t i = 0; i < bucket.counts.size(); ++i) {
    Unpack(from, bucket.counts[i], 1 / scale, context.output<float>(i));
    from += bucket.counts[i];
  }
  return absl::OkStatus();
}

absl::Status Reduce(const KernelContext& context, const Bucket& bucket) {
  switch (bucket.wire.dtype) {
    case DType::kFloat16:
      return ReduceAs<Float16>(context, bucket);
    case DType::kBFloat16:
      return ReduceAs<BFloat16>(context, bucket);
    default:
      return ReduceAs<float>(context, bucket);
  }
}

}  // namespace

NewKernel AllReduceCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const WireAttributes wire,
                            ReadWireAttributes(node.attributes));
  const Bucket bucket = BucketOf(node, wire);
  return MakeKernel(
      [bucket](const KernelContext& context) {
        return Reduce(context, bucket);
      },
      bucket.workspace_bytes());
}

NewKernel AllReduceInTurnCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t own_turn,
                            node.attributes.GetInt("own_turn"));
  const Bucket bucket = BucketOf(node, {});
  return MakeKernel(
      [bucket, own_turn](const KernelContext& context) {
        const int32_t turn = *context.input<int32_t>(bucket.counts.size() + 1);
        const bool is_due = turn < 0 || turn == own_turn;
        return is_due ? Reduce(context, bucket) : absl::OkStatus();
      },
      bucket.workspace_bytes());
}

}  // namespace spillway::ops

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/communicator.h"
#include "ops/collective/all_reduce.h"
#include "ops/common/function_kernel.h"

namespace spillway::ops {
namespace {

// to[i] <- weight from[i]. The arrays are the same or do not overlap.
void Scale(float weight, const float* from, int64_t count, float* to) {
  if (weight == 1 && from == to) return;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = weight * from[i];
}

absl::Status Reduce(const KernelContext& context,
                    const std::vector<int64_t>& counts) {
  const float weight = context.input<float>(counts.size())[0];
  const bool is_packed = counts.size() > 1;
  float* const bucket = is_packed ? static_cast<float*>(context.workspace)
                                  : context.output<float>(0);
  int64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    Scale(weight, context.input<float>(i), counts[i], bucket + total);
    total += counts[i];
  }
  SPILLWAY_RETURN_IF_ERROR(
      context.communicator->AllReduce(bucket, total, DType::kFloat32));
  if (!is_packed) return absl::OkStatus();
  const float* from = bucket;
  for (size_t i = 0; i < counts.size(); ++i) {
    Scale(1, from, counts[i], context.output<float>(i));
    from += counts[i];
  }
  return absl::OkStatus();
}

}  // namespace

NewKernel AllReduceCpu(const KernelRequest& node) {
  std::vector<int64_t> counts;
  int64_t bytes = 0;
  for (const TensorType& output : node.outputs) {
    counts.push_back(output.num_elements());
    bytes += output.num_bytes();
  }
  const int64_t workspace_bytes = counts.size() > 1 ? bytes : 0;
  return MakeKernel(
      [counts = std::move(counts)](const KernelContext& context) {
        return Reduce(context, counts);
      },
      workspace_bytes);
}

}  // namespace spillway::ops

#include "training/workers/bucket_plan.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr int64_t kElementBytes = sizeof(float);
constexpr int64_t kMostBytes = int64_t{1} << 31;

absl::Status CheckRange(const char* field, int64_t value, int64_t least,
                        int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidArgument(fmt::format("buckets: {} is {}; it must be {} to {}",
                                     field, value, least, most));
}

std::vector<std::vector<size_t>> PlanByElements(
    std::span<const int64_t> elements, int64_t threshold) {
  std::vector<std::vector<size_t>> buckets;
  std::vector<size_t> pending;
  int64_t sum = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] > threshold) {
      buckets.push_back({i});
      continue;
    }
    pending.push_back(i);
    sum += elements[i];
    if (sum <= threshold) continue;
    buckets.push_back(std::exchange(pending, {}));
    sum = 0;
  }
  if (!pending.empty()) buckets.push_back(std::move(pending));
  return buckets;
}

std::vector<std::vector<size_t>> PlanByBytes(std::span<const int64_t> elements,
                                             const BucketSpec& spec) {
  std::vector<std::vector<size_t>> buckets;
  int64_t sum = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t bytes = elements[i] * kElementBytes;
    const int64_t most = buckets.size() <= 1 ? spec.first_bytes : spec.bytes;
    if (buckets.empty() || sum + bytes > most) {
      buckets.emplace_back();
      sum = 0;
    }
    buckets.back().push_back(i);
    sum += bytes;
  }
  return buckets;
}

}  // namespace

absl::Status CheckBucketSpec(const BucketSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckRange("bytes", spec.bytes, kElementBytes, kMostBytes));
  SPILLWAY_RETURN_IF_ERROR(
      CheckRange("first_bytes", spec.first_bytes, kElementBytes, kMostBytes));
  return CheckRange("elements", spec.elements, 0, kMostBytes / kElementBytes);
}

std::vector<std::vector<size_t>> PlanBuckets(std::span<const int64_t> elements,
                                             const BucketSpec& spec) {
  return spec.elements > 0 ? PlanByElements(elements, spec.elements)
                           : PlanByBytes(elements, spec);
}

}  // namespace spillway

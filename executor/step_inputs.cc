#include "executor/step_inputs.h"

#include <cstring>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/host_threads.h"

namespace spillway {
namespace {

constexpr int64_t kFeedAlignment = 256;

// The GPU waits for this copy, and a single thread reaches only a fraction of
// the memory's bandwidth. So a large copy is split.
void CopyFeed(HostThreads* threads, const void* from, std::byte* to,
              int64_t bytes) {
  RunInParts(threads, bytes, {.least_items = int64_t{4} << 20, .most_parts = 8},
             [=](int64_t begin, int64_t end) {
               std::memcpy(to + begin,
                           static_cast<const std::byte*>(from) + begin,
                           static_cast<size_t>(end - begin));
             });
}

}  // namespace

absl::Status StepInputs::Allocate(const ExecutorSpec& spec) {
  host_threads_ = spec.host_threads;
  int64_t total_bytes = kFeedAlignment;  // for the step number
  for (const Step& step : spec.plan->steps) {
    if (step.kind != StepKind::kFeed) continue;
    const int64_t bytes = spec.plan->buffers[step.outputs[0]].bytes;
    const bool is_new = feeds_.emplace(step.feed, Feed{.bytes = bytes}).second;
    if (is_new) total_bytes += AlignUp(bytes, kFeedAlignment);
  }
  if (spec.device->host_addressable()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(
      memory_, spec.device->Allocate(MemorySpace::kHost, total_bytes));
  step_ = reinterpret_cast<int64_t*>(memory_->data());
  std::byte* next = memory_->data() + kFeedAlignment;
  for (auto& [placeholder, feed] : feeds_) {
    feed.copy = next;
    next += AlignUp(feed.bytes, kFeedAlignment);
  }
  return absl::OkStatus();
}

std::byte* StepInputs::feed_buffer(ValueId placeholder) const {
  const auto found = feeds_.find(placeholder);
  return found == feeds_.end() ? nullptr : found->second.copy;
}

void StepInputs::Set(const RunOptions& options) {
  *step_ = options.step;
  for (auto& [placeholder, feed] : feeds_) {
    feed.data = options.feeds.at(placeholder);
    if (feed.copy == nullptr || feed.data == feed.copy) continue;
    CopyFeed(host_threads_, feed.data, feed.copy, feed.bytes);
    feed.data = feed.copy;
  }
}

}  // namespace spillway

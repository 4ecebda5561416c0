#include "executor/checked/fenced_buffers.h"

#include "base/check.h"
#include "base/units.h"
#include "executor/checked/poison.h"

namespace spillway {
namespace {

constexpr int64_t kFencedAlignment = 256;
// Damage in the first half is attributed to the buffer before the fence, in the
// second half to the buffer after it.
constexpr int64_t kFenceBytes = 128;

int64_t StartAfter(int64_t end) {
  return AlignUp(end + kFenceBytes, kFencedAlignment);
}

std::vector<Interval> Layout(std::span<const int64_t> sizes) {
  std::vector<Interval> buffers;
  int64_t end = 0;
  for (const int64_t bytes : sizes) {
    const int64_t begin = StartAfter(end);
    end = begin + bytes;
    buffers.push_back({begin, end});
  }
  return buffers;
}

}  // namespace

int64_t FencedBuffers::RegionBytes(std::span<const int64_t> sizes) {
  return sizes.empty() ? 0 : StartAfter(Layout(sizes).back().end);
}

FencedBuffers::FencedBuffers(std::span<std::byte> region,
                             std::span<const int64_t> sizes)
    : region_(region.first(static_cast<size_t>(RegionBytes(sizes)))),
      buffers_(Layout(sizes)) {
  SPILLWAY_CHECK(
      reinterpret_cast<uintptr_t>(region.data()) % kFencedAlignment == 0);
  for (size_t i = 0; i <= buffers_.size(); ++i) {
    FillWith(Pattern::kFence, Bytes(Fence(i)));
  }
}

Interval FencedBuffers::Fence(size_t i) const {
  return {i == 0 ? 0 : buffers_[i - 1].end,
          i == buffers_.size() ? static_cast<int64_t>(region_.size())
                               : buffers_[i].begin};
}

std::optional<FencedBuffers::Damage> FencedBuffers::FindDamage() const {
  for (size_t i = 0; i <= buffers_.size(); ++i) {
    const Interval fence = Fence(i);
    const int64_t distance = FirstOther(Pattern::kFence, Bytes(fence));
    if (distance == fence.length()) continue;
    const bool is_of_next =
        i == 0 || (i < buffers_.size() && distance >= fence.length() / 2);
    const size_t nearest = is_of_next ? i : i - 1;
    return Damage{.buffer = nearest,
                  .offset = fence.begin + distance - buffers_[nearest].begin};
  }
  return std::nullopt;
}

}  // namespace spillway

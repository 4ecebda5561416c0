#include <algorithm>
#include <cstddef>

#include "base/status_macros.h"
#include "executor/memory/static_packing.h"
#include "fmt/format.h"

namespace spillway {
namespace {

bool IsInGap(const PackingItem& item, int64_t at) {
  return std::ranges::any_of(
      item.gaps, [&](const Interval& gap) { return gap.contains(at); });
}

bool IsLiveAt(const PackingItem& item, int64_t at) {
  return item.lifetime.contains(at) && !IsInGap(item, at);
}

// If two items are live together anywhere, they are where one of their
// lifetimes begins or one of their gaps ends.
bool LiveTogether(const PackingItem& a, const PackingItem& b) {
  const auto both = [&](int64_t at) {
    return IsLiveAt(a, at) && IsLiveAt(b, at);
  };
  const auto after_gap = [&](const Interval& gap) { return both(gap.end); };
  return both(a.lifetime.begin) || both(b.lifetime.begin) ||
         std::ranges::any_of(a.gaps, after_gap) ||
         std::ranges::any_of(b.gaps, after_gap);
}

Interval Bytes(const PackingItem& item, int64_t offset) {
  return {offset, offset + item.bytes};
}

absl::Status CheckOffset(int64_t alignment, const Packing& packing, size_t i) {
  const int64_t offset = packing.offsets[i];
  if (offset >= 0 && offset % alignment == 0) return absl::OkStatus();
  return Internal(
      fmt::format("item {} has offset {}, which is not a multiple of {}", i,
                  offset, alignment));
}

absl::Status CheckPair(std::span<const PackingItem> items,
                       const Packing& packing, size_t a, size_t b) {
  const Interval bytes_a = Bytes(items[a], packing.offsets[a]);
  const Interval bytes_b = Bytes(items[b], packing.offsets[b]);
  if (bytes_a.empty() || bytes_b.empty() || !Overlap(bytes_a, bytes_b) ||
      !LiveTogether(items[a], items[b])) {
    return absl::OkStatus();
  }
  return Internal(fmt::format(
      "items {} and {} live together but share bytes: [{}, {}) and [{}, {})", a,
      b, bytes_a.begin, bytes_a.end, bytes_b.begin, bytes_b.end));
}

// Compares `item` with the earlier items.
absl::Status CheckPairs(std::span<const PackingItem> items,
                        const Packing& packing, size_t item) {
  for (size_t other = 0; other < item; ++other) {
    SPILLWAY_RETURN_IF_ERROR(CheckPair(items, packing, other, item));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidatePacking(std::span<const PackingItem> items,
                             int64_t alignment, const Packing& packing) {
  if (packing.offsets.size() != items.size()) {
    return Internal(fmt::format("{} offsets for {} items",
                                packing.offsets.size(), items.size()));
  }
  int64_t height = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(CheckOffset(alignment, packing, i));
    height = std::max(height, packing.offsets[i] + items[i].bytes);
    SPILLWAY_RETURN_IF_ERROR(CheckPairs(items, packing, i));
  }
  if (packing.height_bytes != height) {
    return Internal(
        fmt::format("the height is {}, not {}", height, packing.height_bytes));
  }
  return absl::OkStatus();
}

}  // namespace spillway

// Offsets for buffers whose lifetimes are all known in advance
// (docs/packing.md).
//
// Units: bytes and schedule positions. Deterministic; touches no memory.
// Cost: O(n log n) if that reaches the target, as it nearly always does for
// training steps; otherwise up to `search_effort` in addition.
#ifndef SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_
#define SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/interval.h"

namespace spillway {

// Bytes that are occupied over [lifetime.begin, lifetime.end), except in
// `gaps`.
struct PackingItem {
  Interval lifetime = {};
  int64_t bytes = 0;
  // Inside the lifetime, ascending, disjoint: other items may use the bytes
  // there.
  std::vector<Interval> gaps = {};
};

// 20,000 per item, at most 25,000,000: up to 0.25 s on one core.
inline constexpr int64_t kDefaultSearchEffort = -1;

struct PackingOptions {
  int64_t alignment = 1;     // offsets are multiples of it; > 0
  int64_t target_bytes = 0;  // stop at the first placement this low
  // Limit of the search after the cheap heuristics have missed the target and
  // the lower bound: number of comparisons of two items.
  int64_t search_effort = kDefaultSearchEffort;
  // Called every few milliseconds of that search; true ends it. Empty: never.
  std::function<bool()> stop = {};
};

struct Packing {
  std::vector<int64_t> offsets = {};  // by item
  int64_t height_bytes = 0;           // end of the last byte used by any item
  // Largest sum of live (aligned) items: no placement is lower (except for the
  // top item's padding).
  int64_t lower_bound_bytes = 0;
};

// Places items as low as it can, so that no two items share a byte while both
// are live. Items without bytes or without a lifetime get offset 0.
Packing PackBuffers(std::span<const PackingItem> items,
                    const PackingOptions& options);

// Largest sum of the aligned sizes of items that are live at one position.
int64_t LiveBytesLowerBound(std::span<const PackingItem> items,
                            int64_t alignment);

// Naive on purpose, and independent of the packer. Errors: INTERNAL naming the
// items whose bytes overlap, the item whose offset is wrong, or the height.
absl::Status ValidatePacking(std::span<const PackingItem> items,
                             int64_t alignment, const Packing& packing);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_

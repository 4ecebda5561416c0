// Offsets for buffers whose lifetimes are all known beforehand.
//
// Units: bytes and schedule positions. Cost: O(n^2) for a few hundred to a few
// thousand buffers. Deterministic; touches no memory.
// Source: first fit by decreasing size over several orders; see Sekiyama et
// al., "Profile-guided memory optimization for deep neural networks" (2018).
#ifndef SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_
#define SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"

namespace spillway {

// Bytes that are occupied over [lifetime.begin, lifetime.end).
struct PackingItem {
  Interval lifetime = {};
  int64_t bytes = 0;
};

struct Packing {
  std::vector<int64_t> offsets = {};  // by item, multiples of the alignment
  int64_t height_bytes = 0;           // last byte used by any item
  int64_t lower_bound_bytes = 0;      // largest sum of live (aligned) items
};

struct PackingOptions {
  int64_t alignment = 1;
  int64_t target_bytes = 0;  // stop at the first placement this low
  int64_t search_effort = 1;
};

// Places items so that those whose lifetimes overlap do not share bytes, as low
// as it can.
Packing PackBuffers(std::span<const PackingItem> items,
                    const PackingOptions& options);

// Largest sum of the aligned sizes of items alive at one position.
int64_t LiveBytesLowerBound(std::span<const PackingItem> items,
                            int64_t alignment);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_STATIC_PACKING_H_

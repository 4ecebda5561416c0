// Chooses offsets by when their bytes become free, not only by whether they
// are.
//
// A buffer that a copy reads may give up its bytes as soon as the copy was
// issued, but the next owner of the bytes waits until the copy is done. So
// among the holes in which a buffer fits, the best is one whose bytes have been
// free for long, or are not needed soon: then nothing waits.
//
//   bytes
//     |  [== a ==]~~~~~~~~[== c ==]      a's copy runs during ~: c takes its
//     |  [= b =]      [==== d ====]      bytes after that, and d those of b
//     +-----------------------------> steps
#ifndef SPILLWAY_EXECUTOR_MEMORY_TIMED_PACKING_H_
#define SPILLWAY_EXECUTOR_MEMORY_TIMED_PACKING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"

namespace spillway {

struct TimedItem {
  Interval lifetime = {};  // in schedule positions; a hard constraint
  int64_t bytes = 0;
  // When the first user is expected to start, and when the last one to end.
  int64_t begin_ns = 0;
  int64_t free_ns = 0;
};

struct TimedPacking {
  std::vector<int64_t> offsets = {};  // by item
  int64_t height_bytes = 0;
  // Sum of the items' waits for their bytes, except items smaller than 1/4096
  // of the limit.
  int64_t wait_ns = 0;
};

// Placements within `limit_bytes` in which no two items share a byte while both
// are live: at most `max_packings`, in order of waiting time. Empty if none was
// found. Deterministic. Places the items one after the other, from the fullest
// position outwards; then repeats with the items first that exceeded the limit
// or waited. Up to 30 repetitions, fewer if many items conflict. If items still
// wait, packs them (static_packing.h) over the time in which they are used, so
// that none waits, or each only a little: up to five times 10,000 comparisons
// per item, or 10 million.
std::vector<TimedPacking> PackForTime(std::span<const TimedItem> items,
                                      int64_t alignment, int64_t limit_bytes,
                                      size_t max_packings);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_TIMED_PACKING_H_

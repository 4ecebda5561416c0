// Offsets chosen by when bytes are free, not only by whether.
//
// A buffer that a copy reads may give its bytes away as soon as the copy was
// issued, but the next owner of the bytes waits until it is done. So of all the
// holes that a buffer fits in, one is best whose bytes have been free for long,
// or will not be asked for soon: then nobody waits.
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
  Interval lifetime = {};  // in schedule positions; hard
  int64_t bytes = 0;
  // When the first user would like to start, and when the last is done.
  int64_t begin_ns = 0;
  int64_t free_ns = 0;
};

struct TimedPacking {
  std::vector<int64_t> offsets = {};  // by item
  int64_t height_bytes = 0;
  // Sum over the items of how long they would wait for their bytes, those of
  // less than 1/4096 of the limit apart.
  int64_t wait_ns = 0;
};

// Placements within `limit_bytes` that let no two items share a byte while both
// are live: at most `max_packings`, least waiting first. Empty if none was
// found. Deterministic. Places the items one after the other, from the fullest
// position outwards, then again and again with those first that stuck out or
// waited; up to 30 times, fewer where many items conflict.
std::vector<TimedPacking> PackForTime(std::span<const TimedItem> items,
                                      int64_t alignment, int64_t limit_bytes,
                                      size_t max_packings);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_TIMED_PACKING_H_

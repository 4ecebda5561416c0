#include "executor/memory/timed_packing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "executor/memory/static_packing.h"

namespace spillway {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;

// Two items that may not share bytes (both are live at some position), or that
// may, but then one waits for the other.
struct Conflict {
  size_t other = 0;
  int64_t wait_ns = 0;  // kFar: may not share
};

using Conflicts = std::vector<std::vector<Conflict>>;  // by item

// Bytes that an item should avoid.
struct Taken {
  Interval bytes = {};
  int64_t wait_ns = 0;
};

Conflicts FindConflicts(std::span<const TimedItem> items) {
  std::vector<size_t> by_begin(items.size());
  for (size_t i = 0; i < items.size(); ++i) by_begin[i] = i;
  std::ranges::stable_sort(by_begin, {},
                           [&](size_t i) { return items[i].lifetime.begin; });
  // By position in by_begin: the earliest begin_ns of the remaining items.
  std::vector<int64_t> rest_begins_ns(items.size() + 1, kFar);
  for (size_t place = items.size(); place-- > 0;) {
    rest_begins_ns[place] =
        std::min(rest_begins_ns[place + 1], items[by_begin[place]].begin_ns);
  }
  Conflicts conflicts(items.size());
  std::vector<size_t> open;  // may still conflict with later items
  for (size_t place = 0; place < items.size(); ++place) {
    const size_t i = by_begin[place];
    const TimedItem& item = items[i];
    std::erase_if(open, [&](size_t j) {
      return items[j].lifetime.end <= item.lifetime.begin &&
             items[j].free_ns <= rest_begins_ns[place];
    });
    for (const size_t j : open) {
      const bool both_live = items[j].lifetime.end > item.lifetime.begin;
      const int64_t wait_ns =
          both_live ? kFar : items[j].free_ns - item.begin_ns;
      if (wait_ns <= 0) continue;
      conflicts[i].push_back({.other = j, .wait_ns = wait_ns});
      conflicts[j].push_back({.other = i, .wait_ns = wait_ns});
    }
    open.push_back(i);
  }
  return conflicts;
}

// The items over the time in which they are used, less `tolerance_ns` at their
// ends: those that do not overlap wait at most so long for each other.
std::vector<PackingItem> InTime(std::span<const TimedItem> items,
                                const Conflicts& conflicts,
                                int64_t tolerance_ns) {
  std::vector<PackingItem> in_time;
  in_time.reserve(items.size());
  for (const TimedItem& item : items) {
    const int64_t end_ns =
        std::max(item.begin_ns + 1, item.free_ns - tolerance_ns);
    in_time.push_back(
        {.lifetime = {item.begin_ns, end_ns}, .bytes = item.bytes});
  }
  for (size_t i = 0; i < items.size(); ++i) {
    for (const Conflict& conflict : conflicts[i]) {
      if (conflict.wait_ns != kFar) continue;
      Interval& a = in_time[i].lifetime;
      const Interval& b = in_time[conflict.other].lifetime;
      if (a.begin <= b.begin) a.end = std::max(a.end, b.begin + 1);
    }
  }
  return in_time;
}

// The sum of the items' waits at these offsets, each for the earlier item that
// it waits longest for.
int64_t WaitNs(std::span<const TimedItem> items, const Conflicts& conflicts,
               const std::vector<int64_t>& offsets) {
  const auto bytes_of = [&](size_t i) {
    return Interval{offsets[i], offsets[i] + items[i].bytes};
  };
  int64_t sum_ns = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t wait_ns = 0;
    for (const Conflict& conflict : conflicts[i]) {
      const size_t other = conflict.other;
      const bool is_earlier =
          items[other].lifetime.begin < items[i].lifetime.begin;
      if (is_earlier && Overlap(bytes_of(i), bytes_of(other))) {
        wait_ns = std::max(wait_ns, conflict.wait_ns);
      }
    }
    sum_ns += wait_ns;
  }
  return sum_ns;
}

// Places items one after the other, each where it waits least.
class Placer {
 public:
  // Borrows the items and their conflicts.
  Placer(std::span<const TimedItem> items, const Conflicts& conflicts,
         int64_t alignment, int64_t limit_bytes)
      : items_(items),
        alignment_(alignment),
        limit_bytes_(limit_bytes),
        conflicts_(conflicts) {}

  struct Result {
    TimedPacking packing = {};
    std::vector<int64_t> waits_ns = {};  // by item
  };

  Result Place(const std::vector<size_t>& order) {
    Result result;
    TimedPacking& packing = result.packing;
    packing.offsets.assign(items_.size(), -1);
    result.waits_ns.assign(items_.size(), 0);
    for (const size_t i : order) {
      const Choice choice = Choose(i, packing.offsets);
      packing.offsets[i] = choice.offset;
      packing.wait_ns += choice.wait_ns;
      packing.height_bytes =
          std::max(packing.height_bytes, choice.offset + items_[i].bytes);
      result.waits_ns[i] = choice.wait_ns;
    }
    return result;
  }

 private:
  struct Choice {
    int64_t above_limit = kFar;
    int64_t wait_ns = kFar;
    int64_t hole_size = kFar;
    int64_t offset = kFar;
    bool operator<(const Choice& other) const {
      return std::tie(above_limit, wait_ns, hole_size, offset) <
             std::tie(other.above_limit, other.wait_ns, other.hole_size,
                      other.offset);
    }
  };

  int64_t Size(size_t i) const { return AlignUp(items_[i].bytes, alignment_); }

  Choice Choose(size_t i, const std::vector<int64_t>& offsets) {
    blocked_.clear();
    slow_.clear();
    for (const Conflict& conflict : conflicts_[i]) {
      const int64_t offset = offsets[conflict.other];
      if (offset < 0) continue;
      const Interval bytes = {offset, offset + Size(conflict.other)};
      if (conflict.wait_ns == kFar) {
        blocked_.push_back(bytes);
      } else {
        slow_.push_back({.bytes = bytes, .wait_ns = conflict.wait_ns});
      }
    }
    std::ranges::sort(blocked_, {}, &Interval::begin);
    blocked_.push_back({kFar, kFar});
    Choice best;
    int64_t begin = 0;
    for (const Interval& block : blocked_) {
      if (block.begin - begin >= Size(i)) {
        LookAtHole({begin, block.begin}, Size(i), best);
      }
      begin = std::max(begin, block.end);
    }
    return best;
  }

  // Tries the edges of the hole and of the slow bytes in it.
  void LookAtHole(const Interval& hole, int64_t size, Choice& best) {
    near_.clear();
    for (const Taken& taken : slow_) {
      if (Overlap(taken.bytes, hole)) near_.push_back(taken);
    }
    Try(hole, hole.begin, size, best);
    if (hole.end < kFar) Try(hole, hole.end - size, size, best);
    for (const Taken& taken : near_) {
      Try(hole, taken.bytes.end, size, best);
      Try(hole, taken.bytes.begin - size, size, best);
    }
  }

  void Try(const Interval& hole, int64_t offset, int64_t size,
           Choice& best) const {
    if (offset < hole.begin || offset + size > hole.end) return;
    Choice choice = {
        .above_limit = std::max<int64_t>(0, offset + size - limit_bytes_),
        .wait_ns = 0,
        .hole_size = hole.length(),
        .offset = offset};
    const Interval bytes = {offset, offset + size};
    for (const Taken& taken : near_) {
      if (best < choice) return;
      if (Overlap(taken.bytes, bytes)) {
        choice.wait_ns = std::max(choice.wait_ns, taken.wait_ns);
      }
    }
    best = std::min(best, choice);
  }

  const std::span<const TimedItem> items_;
  const int64_t alignment_;
  const int64_t limit_bytes_;
  const Conflicts& conflicts_;
  std::vector<Interval> blocked_;
  std::vector<Taken> slow_;
  std::vector<Taken> near_;  // the part of slow_ in a hole
};

// The first of the fullest positions.
int64_t FindPeak(std::span<const TimedItem> items) {
  std::map<int64_t, int64_t> change;
  for (const TimedItem& item : items) {
    change[item.lifetime.begin] += item.bytes;
    change[item.lifetime.end] -= item.bytes;
  }
  int64_t live = 0;
  int64_t most = -1;
  int64_t peak = 0;
  for (const auto& [position, bytes] : change) {
    live += bytes;
    if (live > most) {
      most = live;
      peak = position;
    }
  }
  return peak;
}

enum class Stack : uint8_t { kLatestEnd, kEarliestBegin, kLargest };

// Items that are live at the peak, in the order of `stack`, then the others
// outwards from it.
std::vector<size_t> FromPeak(std::span<const TimedItem> items, Stack stack) {
  const int64_t peak = FindPeak(items);
  const auto key = [&](size_t i) -> std::array<int64_t, 3> {
    const TimedItem& item = items[i];
    const Interval& life = item.lifetime;
    if (life.end <= peak) return {1, peak - life.end, -item.bytes};
    if (life.begin > peak) return {2, life.begin - peak, -item.bytes};
    switch (stack) {
      case Stack::kLatestEnd:
        return {0, -life.end, life.begin};
      case Stack::kEarliestBegin:
        return {0, life.begin, -life.end};
      case Stack::kLargest:
        return {0, -item.bytes, 0};
    }
    return {};
  };
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, key);
  return order;
}

// Keeps the `max` best packings offered, each once, least waiting first.
class BestPackings {
 public:
  explicit BestPackings(size_t max) : max_(max) {}

  void Offer(const TimedPacking& packing) {
    const auto known =
        std::ranges::find(best_, packing.offsets, &TimedPacking::offsets);
    if (known != best_.end()) {
      if (known->wait_ns <= packing.wait_ns) return;
      best_.erase(known);
    }
    best_.insert(std::ranges::upper_bound(best_, packing.wait_ns, {},
                                          &TimedPacking::wait_ns),
                 packing);
    if (best_.size() > max_) best_.pop_back();
  }

  bool has_waitless() const { return !best_.empty() && best_[0].wait_ns == 0; }

  std::vector<TimedPacking> Take() && { return std::move(best_); }

 private:
  const size_t max_;
  std::vector<TimedPacking> best_;
};

// Items smaller than this fraction of the limit are packed separately: they are
// numerous, but need little memory in total.
constexpr int64_t kSmallPart = 4096;

// Places the small items at the bottom, as low as possible; returns their
// height.
int64_t PlaceSmall(std::span<const TimedItem> items,
                   const std::vector<size_t>& small, int64_t alignment,
                   std::vector<int64_t>& offsets) {
  std::vector<PackingItem> packed;
  packed.reserve(small.size());
  for (const size_t i : small) {
    packed.push_back({.lifetime = items[i].lifetime, .bytes = items[i].bytes});
  }
  const Packing packing =
      PackBuffers(packed, {.alignment = alignment, .search_effort = 0});
  for (size_t i = 0; i < small.size(); ++i) {
    offsets[small[i]] = packing.offsets[i];
  }
  return AlignUp(packing.height_bytes, alignment);
}

// Offers packings of the items in time, with the least tolerance that fits.
void PackInTime(std::span<const TimedItem> items, const Conflicts& conflicts,
                int64_t alignment, int64_t limit_bytes, BestPackings& best) {
  // Tolerances, as parts of the time from the first use to the last.
  constexpr std::array<int64_t, 4> kParts = {1000, 250, 120, 60};
  constexpr int64_t kEffortPerItem = 10'000;  // comparisons of two items
  constexpr int64_t kMostEffort = 10'000'000;
  int64_t end_ns = 0;
  for (const TimedItem& item : items) end_ns = std::max(end_ns, item.free_ns);
  std::vector<int64_t> tolerances_ns = {0};
  for (const int64_t part : kParts) tolerances_ns.push_back(end_ns / part);
  for (const int64_t tolerance_ns : tolerances_ns) {
    Packing packing =
        PackBuffers(InTime(items, conflicts, tolerance_ns),
                    {.alignment = alignment,
                     .target_bytes = limit_bytes,
                     .search_effort = std::min(
                         kMostEffort, kEffortPerItem * std::ssize(items))});
    if (packing.height_bytes > limit_bytes) continue;
    best.Offer({.offsets = packing.offsets,
                .height_bytes = packing.height_bytes,
                .wait_ns = WaitNs(items, conflicts, packing.offsets)});
    return;
  }
}

// Offers packings by the Placer, until one has no waits.
void PackFromPeak(std::span<const TimedItem> items, const Conflicts& conflicts,
                  int64_t alignment, int64_t limit_bytes, BestPackings& best) {
  constexpr int64_t kMostRounds = 10;
  constexpr int64_t kMostConflicts = 800'000;  // conflicts examined per style
  int64_t num_conflicts = 0;
  for (const auto& of_item : conflicts) num_conflicts += std::ssize(of_item);
  const int64_t rounds =
      std::clamp(kMostConflicts / std::max<int64_t>(1, num_conflicts),
                 int64_t{1}, kMostRounds);
  Placer placer(items, conflicts, alignment, limit_bytes);
  for (const Stack stack :
       {Stack::kLatestEnd, Stack::kEarliestBegin, Stack::kLargest}) {
    std::vector<size_t> order = FromPeak(items, stack);
    for (int64_t round = 0; round < rounds; ++round) {
      const Placer::Result result = placer.Place(order);
      const bool fits = result.packing.height_bytes <= limit_bytes;
      if (fits) best.Offer(result.packing);
      if (best.has_waitless()) return;
      std::stable_partition(order.begin(), order.end(), [&](size_t i) {
        return fits ? result.waits_ns[i] > 0
                    : result.packing.offsets[i] + items[i].bytes > limit_bytes;
      });
    }
  }
}

std::vector<TimedPacking> PackLarge(std::span<const TimedItem> items,
                                    int64_t alignment, int64_t limit_bytes,
                                    size_t max_packings) {
  const Conflicts conflicts = FindConflicts(items);
  BestPackings best(max_packings);
  PackFromPeak(items, conflicts, alignment, limit_bytes, best);
  if (!best.has_waitless()) {
    PackInTime(items, conflicts, alignment, limit_bytes, best);
  }
  return std::move(best).Take();
}

}  // namespace

std::vector<TimedPacking> PackForTime(std::span<const TimedItem> items,
                                      int64_t alignment, int64_t limit_bytes,
                                      size_t max_packings) {
  std::vector<size_t> small;
  std::vector<size_t> large;
  std::vector<TimedItem> large_items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].bytes < limit_bytes / kSmallPart) {
      small.push_back(i);
    } else {
      large.push_back(i);
      large_items.push_back(items[i]);
    }
  }
  std::vector<int64_t> offsets(items.size(), 0);
  const int64_t base = PlaceSmall(items, small, alignment, offsets);
  std::vector<TimedPacking> packings =
      PackLarge(large_items, alignment, limit_bytes - base, max_packings);
  for (TimedPacking& packing : packings) {
    for (size_t i = 0; i < large.size(); ++i) {
      offsets[large[i]] = base + packing.offsets[i];
    }
    packing.offsets = offsets;
    packing.height_bytes += base;
  }
  return packings;
}

}  // namespace spillway

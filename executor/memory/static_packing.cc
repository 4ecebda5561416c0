#include "executor/memory/static_packing.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/units.h"

namespace spillway {
namespace {

// The items with rounded-up sizes, and which of them are alive together.
struct Problem {
  std::span<const PackingItem> items;
  std::vector<int64_t> aligned_bytes;
};

Problem MakeProblem(std::span<const PackingItem> items, int64_t alignment) {
  Problem problem{.items = items, .aligned_bytes = {}};
  problem.aligned_bytes.reserve(items.size());
  for (const PackingItem& item : items) {
    problem.aligned_bytes.push_back(AlignUp(item.bytes, alignment));
  }
  return problem;
}

// Last byte used: sizes count exactly here, since nothing lies above the top.
int64_t Height(const Problem& problem, std::span<const int64_t> offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + problem.items[i].bytes);
  }
  return height;
}

// Puts items, in the given order, each at the lowest offset where it overlaps
// no item placed before it that is alive at the same time.
std::vector<int64_t> FirstFit(const Problem& problem,
                              std::span<const size_t> order) {
  std::vector<int64_t> offsets(problem.items.size(), 0);
  std::vector<size_t> placed;  // by offset
  for (const size_t item : order) {
    const int64_t bytes = problem.aligned_bytes[item];
    int64_t offset = 0;
    for (const size_t other : placed) {
      if (!Overlap(problem.items[item].lifetime,
                   problem.items[other].lifetime)) {
        continue;
      }
      if (offset + bytes <= offsets[other]) break;  // the hole is large enough
      offset = std::max(offset, offsets[other] + problem.aligned_bytes[other]);
    }
    offsets[item] = offset;
    const auto at = std::ranges::upper_bound(
        placed, offset, {}, [&](size_t i) { return offsets[i]; });
    placed.insert(at, item);
  }
  return offsets;
}

// Items sorted by a key; equal keys keep the lower index first.
template <typename Key>
std::vector<size_t> Sorted(size_t size, Key key) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

std::vector<std::vector<size_t>> CandidateOrders(const Problem& problem) {
  const auto& items = problem.items;
  const auto bytes = [&](size_t i) { return problem.aligned_bytes[i]; };
  const auto length = [&](size_t i) { return items[i].lifetime.length(); };
  const auto begin = [&](size_t i) { return items[i].lifetime.begin; };
  const size_t n = items.size();
  return {
      Sorted(n, [&](size_t i) { return std::tuple(-bytes(i), -length(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(-length(i), -bytes(i)); }),
      Sorted(n,
             [&](size_t i) {
               return -static_cast<double>(bytes(i)) *
                      static_cast<double>(length(i));
             }),
      Sorted(n, [&](size_t i) { return std::tuple(begin(i), -bytes(i)); }),
      Sorted(n,
             [&](size_t i) {
               return std::tuple(-items[i].lifetime.end, -bytes(i));
             }),
  };
}

// Bytes alive when item `i` begins: items at such places decide the height.
std::vector<int64_t> LiveBytesAtBegin(const Problem& problem) {
  std::vector<int64_t> live(problem.items.size(), 0);
  for (size_t i = 0; i < live.size(); ++i) {
    for (size_t j = 0; j < live.size(); ++j) {
      if (problem.items[j].lifetime.contains(problem.items[i].lifetime.begin)) {
        live[i] += problem.aligned_bytes[j];
      }
    }
  }
  return live;
}

// For each item, the most bytes that are alive at any moment of its life.
std::vector<int64_t> PeakDuringLife(const Problem& problem) {
  const std::vector<int64_t> live = LiveBytesAtBegin(problem);
  std::vector<int64_t> peak = live;
  for (size_t i = 0; i < peak.size(); ++i) {
    for (size_t j = 0; j < peak.size(); ++j) {
      if (problem.items[i].lifetime.contains(problem.items[j].lifetime.begin)) {
        peak[i] = std::max(peak[i], live[j]);
      }
    }
  }
  return peak;
}

// Moves items that stick out above `target` to the front of the order and
// packs again, as long as that helps.
void Improve(const Problem& problem, int64_t target, std::vector<size_t> order,
             std::vector<int64_t>& best, int64_t& best_height) {
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds && best_height > target; ++round) {
    const std::vector<int64_t> offsets = FirstFit(problem, order);
    const int64_t height = Height(problem, offsets);
    if (height < best_height) {
      best = offsets;
      best_height = height;
    }
    const auto sticks_out = [&](size_t i) {
      return offsets[i] + problem.items[i].bytes > std::min(target, height - 1);
    };
    std::stable_partition(order.begin(), order.end(), sticks_out);
  }
}

}  // namespace

int64_t LiveBytesLowerBound(std::span<const PackingItem> items,
                            int64_t alignment) {
  // Sizes change at begins and ends only; ends free before begins take.
  std::vector<std::pair<int64_t, int64_t>> changes;
  changes.reserve(2 * items.size());
  for (const PackingItem& item : items) {
    if (item.lifetime.empty()) continue;
    const int64_t bytes = AlignUp(item.bytes, alignment);
    changes.emplace_back(item.lifetime.begin, bytes);
    changes.emplace_back(item.lifetime.end, -bytes);
  }
  std::ranges::sort(changes);
  int64_t live = 0;
  int64_t peak = 0;
  for (const auto& [at, bytes] : changes) {
    live += bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

Packing PackBuffers(std::span<const PackingItem> items,
                    const PackingOptions& options) {
  const int64_t alignment = options.alignment;
  const int64_t target_bytes = options.target_bytes;
  const Problem problem = MakeProblem(items, alignment);
  Packing packing;
  packing.lower_bound_bytes = LiveBytesLowerBound(items, alignment);
  packing.height_bytes = std::numeric_limits<int64_t>::max();
  if (items.empty()) {
    packing.height_bytes = 0;
    return packing;
  }
  // The last item's padding is not part of the height, hence the alignment.
  const int64_t target =
      std::max(target_bytes, packing.lower_bound_bytes - (alignment - 1));
  std::vector<std::vector<size_t>> orders = CandidateOrders(problem);
  const std::vector<int64_t> peak = PeakDuringLife(problem);
  orders.push_back(Sorted(items.size(), [&](size_t i) {
    return std::tuple(-peak[i], -problem.aligned_bytes[i]);
  }));
  for (std::vector<size_t>& order : orders) {
    Improve(problem, target, std::move(order), packing.offsets,
            packing.height_bytes);
    if (packing.height_bytes <= target) break;
  }
  return packing;
}

}  // namespace spillway

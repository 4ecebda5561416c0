#include "executor/memory/static_packing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "executor/memory/conflict_index.h"
#include "executor/memory/first_fit.h"
#include "executor/memory/packing_effort.h"
#include "executor/memory/packing_problem.h"
#include "executor/memory/placement_search.h"
#include "executor/memory/sweep_packing.h"

namespace spillway {
namespace {

// The best first, measured on training steps of the zoo.
constexpr std::array<SweepStyle, 8> kSweepStyles = {{
    {StackOrder::kLatestEnd, ArrivalOrder::kLargest},
    {StackOrder::kLargest, ArrivalOrder::kLargest},
    {StackOrder::kEarliestBegin, ArrivalOrder::kLargest},
    {StackOrder::kLongest, ArrivalOrder::kLargest},
    {StackOrder::kLatestEnd, ArrivalOrder::kLongest},
    {StackOrder::kLargest, ArrivalOrder::kLongest},
    {StackOrder::kEarliestBegin, ArrivalOrder::kLongest},
    {StackOrder::kLongest, ArrivalOrder::kLongest},
}};

// If more pairs of items conflict, they are not listed (160 MB).
constexpr int64_t kMaxPairs = 10'000'000;

// The depth-first search is used for at most this many items.
constexpr size_t kMaxSearchItems = 2000;

// Packs items whose lifetimes overlap, directly or through other items. Sizes
// are in units.
class Packer {
 public:
  Packer(const PackingProblem& problem, int64_t goal, PackingEffort& effort)
      : problem_(problem), lowest_(goal), effort_(effort) {}

  // Offsets by item.
  std::vector<int64_t> Pack() && {
    TrySweeps();
    if (!IsDone()) TryFirstFit();
    return std::move(best_);
  }

 private:
  bool IsDone() const { return best_height_ <= lowest_; }

  void Keep(std::vector<int64_t> offsets) {
    const int64_t height = Height(problem_, offsets);
    if (height >= best_height_) return;
    best_height_ = height;
    best_ = std::move(offsets);
  }

  void TrySweeps() {
    for (const SweepStyle& style : kSweepStyles) {
      Keep(SweepFromPeak(problem_, style));
      if (IsDone()) return;
    }
  }

  void TryFirstFit() {
    const int64_t max_pairs = std::min(kMaxPairs, effort_.left() / 8);
    const std::optional<ConflictIndex> conflicts =
        ConflictIndex::Make(problem_, max_pairs);
    if (!conflicts) return;
    for (std::vector<size_t>& order : FirstFitOrders(problem_)) {
      TryOrder(*conflicts, std::move(order));
      if (IsDone() || effort_.exhausted()) return;
    }
    Improve(*conflicts);
  }

  // First fit in this order, then several times with the items above the limit
  // first.
  void TryOrder(const ConflictIndex& conflicts, std::vector<size_t> order) {
    constexpr int kRounds = 16;
    PackingEffort part = effort_.Take(effort_.left() / 16);
    for (int round = 0; round < kRounds && !IsDone() && !part.exhausted();
         ++round) {
      std::vector<int64_t> offsets = FirstFit(problem_, conflicts, order, part);
      const int64_t limit = std::min(lowest_, Height(problem_, offsets) - 1);
      std::stable_partition(order.begin(), order.end(), [&](size_t i) {
        return offsets[i] + problem_.items[i].size > limit;
      });
      Keep(std::move(offsets));
    }
    effort_.GiveBack(part);
  }

  // Spends the effort on each method in turn, in ever longer slices.
  void Improve(const ConflictIndex& conflicts) {
    FirstFitImprover improver(problem_, conflicts);
    std::optional<PlacementSearch> at_lowest;
    std::optional<PlacementSearch> between;
    constexpr int64_t kFirstSlice = 500'000;
    for (int64_t slice = kFirstSlice; !IsDone() && !effort_.exhausted();
         slice *= 2) {
      PackingEffort part = effort_.Take(slice);
      improver.Improve(lowest_, part, best_);
      effort_.GiveBack(part);
      best_height_ = Height(problem_, best_);
      if (problem_.items.size() > kMaxSearchItems) continue;
      Search(lowest_, 4 * slice, at_lowest);
      const int64_t middle = std::midpoint(lowest_, best_height_);
      if (middle > lowest_) Search(middle, slice, between);
    }
  }

  // Continues `search`, or starts a new one if the capacity has changed.
  void Search(int64_t capacity, int64_t amount,
              std::optional<PlacementSearch>& search) {
    if (IsDone()) return;
    if (!search || search->capacity() != capacity) {
      search.emplace(problem_, capacity);
    }
    PackingEffort part = effort_.Take(amount);
    const SearchOutcome outcome = search->Continue(part);
    effort_.GiveBack(part);
    if (outcome == SearchOutcome::kFound) Keep(search->offsets());
    if (outcome == SearchOutcome::kImpossible) lowest_ = capacity + 1;
  }

  const PackingProblem& problem_;
  int64_t lowest_ = 0;  // lower placements are not wanted or impossible
  PackingEffort& effort_;
  std::vector<int64_t> best_;
  int64_t best_height_ = std::numeric_limits<int64_t>::max();
};

int64_t SearchEffort(const PackingOptions& options, size_t num_items) {
  if (options.search_effort != kDefaultSearchEffort) {
    return options.search_effort;
  }
  constexpr int64_t kPerItem = 20'000;
  constexpr int64_t kAtMost = 25'000'000;
  return std::min(kAtMost, kPerItem * static_cast<int64_t>(num_items));
}

// Packs each group of overlapping lifetimes separately, with its share of the
// effort. Offsets by item, in units.
std::vector<int64_t> PackParts(const PackingProblem& problem, int64_t goal,
                               PackingEffort& effort) {
  std::vector<int64_t> offsets(problem.items.size(), 0);
  int64_t items_left = std::ssize(problem.items);
  for (const std::vector<size_t>& group : SplitByTime(problem)) {
    const PackingProblem part = Extract(problem, group);
    PackingEffort part_effort =
        effort.Take(effort.left() / items_left * std::ssize(group));
    const std::vector<int64_t> part_offsets =
        Packer(part, goal, part_effort).Pack();
    effort.GiveBack(part_effort);
    items_left -= std::ssize(group);
    for (size_t i = 0; i < group.size(); ++i) {
      offsets[group[i]] = part_offsets[i];
    }
    // No part needs to be lower than another part.
    goal = std::max(goal, Height(part, part_offsets));
  }
  return offsets;
}

}  // namespace

Packing PackBuffers(std::span<const PackingItem> items,
                    const PackingOptions& options) {
  const PackingProblem problem = MakeProblem(items, options.alignment);
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  packing.lower_bound_bytes = MaxLoad(problem) * options.alignment;
  const int64_t goal_bytes =
      std::max(options.target_bytes, packing.lower_bound_bytes);
  PackingEffort effort(SearchEffort(options, items.size()), options.stop);
  const std::vector<int64_t> offsets =
      PackParts(problem, goal_bytes / options.alignment, effort);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const size_t item = problem.ids[i];
    packing.offsets[item] = offsets[i] * options.alignment;
    packing.height_bytes = std::max(packing.height_bytes,
                                    packing.offsets[item] + items[item].bytes);
  }
  return packing;
}

int64_t LiveBytesLowerBound(std::span<const PackingItem> items,
                            int64_t alignment) {
  return MaxLoad(MakeProblem(items, alignment)) * alignment;
}

}  // namespace spillway

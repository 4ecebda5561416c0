#include "executor/memory/sweep_packing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace spillway {
namespace {

// The free units below `top_`, as maximal holes.
class Holes {
 public:
  explicit Holes(int64_t top) : top_(top) {}

  // Takes the lowest of the smallest holes that are large enough; else the top
  // grows.
  int64_t Take(int64_t size) {
    const auto fit = by_size_.lower_bound({size, 0});
    if (fit == by_size_.end()) return Grow(size);
    const auto [hole_size, offset] = *fit;
    Erase(by_offset_.find(offset));
    if (hole_size > size) Insert(offset + size, hole_size - size);
    return offset;
  }

  void Free(int64_t offset, int64_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      next = Erase(next);
    }
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        size += previous->second;
        Erase(previous);
      }
    }
    Insert(offset, size);
  }

 private:
  using ByOffset = std::map<int64_t, int64_t>;  // offset -> size

  // Uses a hole at the very top first.
  int64_t Grow(int64_t size) {
    int64_t offset = top_;
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second == top_) {
        offset = last->first;
        Erase(last);
      }
    }
    top_ = offset + size;
    return offset;
  }

  void Insert(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  ByOffset::iterator Erase(ByOffset::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    return by_offset_.erase(hole);
  }

  int64_t top_ = 0;
  ByOffset by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, offset
};

// Small keys come first; equal keys keep the lower index first.
template <typename Key>
void SortBy(Key key, std::vector<size_t>& items) {
  std::ranges::sort(items, {}, [&](size_t i) { return std::pair(key(i), i); });
}

class Sweeper {
 public:
  Sweeper(const PackingProblem& problem, const SweepStyle& style)
      : problem_(problem),
        style_(style),
        offsets_(problem.items.size(), 0),
        peak_(std::ranges::max_element(problem.loads) - problem.loads.begin()) {
  }

  std::vector<int64_t> Pack() && {
    StackPeak();
    Sweep(false);
    Sweep(true);
    return std::move(offsets_);
  }

 private:
  const ProblemItem& item(size_t i) const { return problem_.items[i]; }

  void StackPeak() {
    std::vector<size_t> stack;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      if (item(i).span.contains(peak_)) stack.push_back(i);
    }
    SortBy([&](size_t i) { return StackKey(item(i)); }, stack);
    for (const size_t i : stack) {
      offsets_[i] = stack_top_;
      stack_top_ += item(i).size;
    }
  }

  std::pair<int64_t, int64_t> StackKey(const ProblemItem& item) const {
    switch (style_.stack) {
      case StackOrder::kLatestEnd:
        return {-item.span.end, item.span.begin};
      case StackOrder::kEarliestBegin:
        return {item.span.begin, -item.span.end};
      case StackOrder::kLongest:
        return {-item.span.length(), -item.size};
      case StackOrder::kLargest:
        return {-item.size, 0};
    }
    return {};
  }

  // When an item begins and ends, counted from the peak in the direction of the
  // sweep; an item that is live at the peak begins at 0 or before.
  Interval SpanFromPeak(size_t i, bool backward) const {
    const Interval& span = item(i).span;
    if (backward) return {peak_ + 1 - span.end, peak_ + 1 - span.begin};
    return {span.begin - peak_, span.end - peak_};
  }

  void Sweep(bool backward) {
    std::vector<size_t> arriving;  // by begin
    std::vector<size_t> leaving;   // by end
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const Interval span = SpanFromPeak(i, backward);
      if (span.end > 0) leaving.push_back(i);
      if (span.begin > 0) arriving.push_back(i);
    }
    SortBy([&](size_t i) { return SpanFromPeak(i, backward).end; }, leaving);
    SortBy([&](size_t i) { return ArrivalKey(i, backward); }, arriving);
    Holes holes(stack_top_);
    auto gone = leaving.begin();
    for (const size_t i : arriving) {
      const int64_t now = SpanFromPeak(i, backward).begin;
      for (; SpanFromPeak(*gone, backward).end <= now; ++gone) {
        holes.Free(offsets_[*gone], item(*gone).size);
      }
      offsets_[i] = holes.Take(item(i).size);
    }
  }

  std::pair<int64_t, int64_t> ArrivalKey(size_t i, bool backward) const {
    const Interval span = SpanFromPeak(i, backward);
    return {span.begin, style_.arrival == ArrivalOrder::kLargest ? -item(i).size
                                                                 : -span.end};
  }

  const PackingProblem& problem_;
  const SweepStyle style_;
  std::vector<int64_t> offsets_;
  const int64_t peak_ = 0;  // the first of the fullest sections
  int64_t stack_top_ = 0;
};

}  // namespace

std::vector<int64_t> SweepFromPeak(const PackingProblem& problem,
                                   const SweepStyle& style) {
  if (problem.items.empty()) return {};
  return Sweeper(problem, style).Pack();
}

}  // namespace spillway

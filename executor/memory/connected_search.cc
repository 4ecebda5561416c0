#include "executor/memory/connected_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace spillway {
namespace {

// An order of branches: items with a large product of weight and measure come
// first, or after lower heads if lowest_head_first.
struct BranchOrder {
  enum Measure : uint8_t { kOne, kLength, kSize } measure = kLength;
  bool lowest_head_first = true;
};

// Used in turn; the order that does best alone occurs twice.
constexpr std::array<BranchOrder, 4> kBranchOrders = {{
    {.measure = BranchOrder::kLength, .lowest_head_first = true},
    {.measure = BranchOrder::kSize, .lowest_head_first = false},
    {.measure = BranchOrder::kLength, .lowest_head_first = true},
    {.measure = BranchOrder::kOne, .lowest_head_first = true},
}};

const BranchOrder& OrderOf(int64_t round) {
  return kBranchOrders[static_cast<size_t>(round) % kBranchOrders.size()];
}

// Nodes until the next restart: a unit times 1 1 2 1 1 2 4 1 1 2 ...
int64_t NodesOf(int64_t round) {
  constexpr int64_t kUnit = 700;
  auto place = static_cast<uint64_t>(round) / kBranchOrders.size() + 1;
  while (!std::has_single_bit(place + 1)) place -= std::bit_floor(place) - 1;
  return kUnit * static_cast<int64_t>((place + 1) / 2);
}

double MeasureOf(const BranchOrder& order, const ProblemItem& item) {
  switch (order.measure) {
    case BranchOrder::kOne:
      return 1.0;
    case BranchOrder::kLength:
      return static_cast<double>(item.span.length());
    case BranchOrder::kSize:
      return static_cast<double>(item.size);
  }
  return 1.0;
}

template <typename Visit>
void ForEachSection(const ProblemItem& item, Visit visit) {
  for (const Interval& piece : item.occupied()) {
    for (int64_t s = piece.begin; s < piece.end; ++s) {
      visit(static_cast<size_t>(s));
    }
  }
}

constexpr auto kAllPairs = std::numeric_limits<int64_t>::max();

}  // namespace

ConnectedSearch::ConnectedSearch(PackingProblem problem, int64_t capacity)
    : problem_(std::move(problem)),
      conflicts_(*ConflictIndex::Make(problem_, kAllPairs)),
      capacity_(capacity),
      in_section_(problem_.loads.size()),
      twins_(problem_.items.size()),
      weights_(problem_.items.size(), 1.0) {
  for (uint32_t i = 0; i < problem_.items.size(); ++i) {
    ForEachSection(item(i), [&](size_t s) { in_section_[s].push_back(i); });
    for (const uint32_t j : conflicts_.of(i)) {
      if (item(i) == item(j)) twins_[i].push_back(j);
    }
  }
}

SearchOutcome ConnectedSearch::Continue(PackingEffort& effort) {
  if (MaxLoad(problem_) > capacity_) return SearchOutcome::kImpossible;
  effort_ = &effort;
  Items all(problem_.items.size());
  std::iota(all.begin(), all.end(), 0u);
  while (!effort.exhausted()) {
    Restart(round_++);
    if (Place(all)) return SearchOutcome::kFound;
    if (!must_stop()) return SearchOutcome::kImpossible;
  }
  return SearchOutcome::kGaveUp;
}

void ConnectedSearch::Restart(int64_t round) {
  nodes_left_ = NodesOf(round);
  FindPriorities(round);
  heads_.assign(weights_.size(), 0);
  offsets_.assign(weights_.size(), -1);
  old_heads_.clear();
  placed_.clear();
  bridges_.assign(in_section_.size(), 0);
  for (uint32_t i = 0; i < weights_.size(); ++i) AddBridges(i, 1);
  is_dirty_.assign(in_section_.size(), false);
}

void ConnectedSearch::FindPriorities(int64_t round) {
  lowest_head_first_ = OrderOf(round).lowest_head_first;
  priorities_.resize(weights_.size());
  for (uint32_t i = 0; i < weights_.size(); ++i) {
    constexpr double kFading = 0.9;  // older experience counts less
    weights_[i] = 1 + kFading * (weights_[i] - 1);
    priorities_[i] = weights_[i] * MeasureOf(OrderOf(round), item(i));
  }
}

// Places `items`, whose lifetimes overlap, directly or through other items.
// False if this is impossible or the search must stop; then nothing has
// changed.
bool ConnectedSearch::Place(const Items& items) {
  if (items.empty()) return true;
  --nodes_left_;
  effort_->Spend(std::ssize(items));
  if (must_stop()) return false;
  const Mark start = Now();
  const uint32_t lowest = LowestTop(items);
  const int64_t top = Top(lowest);
  for (const uint32_t branch : Branches(lowest)) {
    if (heads_[branch] >= top) continue;  // no better than an earlier branch
    const Mark before = Now();
    if (PutOnHead(branch) && PlaceRest(items, branch)) return true;
    UndoTo(before);
    if (must_stop()) break;
    // From now on the item lies at this top or above, and so do its twins.
    for (const uint32_t twin : twins_[branch]) {
      if (heads_[twin] == heads_[branch]) RaiseHead(twin, top);
    }
    RaiseHead(branch, top);
    if (!CheckDirty()) break;
  }
  UndoTo(start);
  return false;
}

uint32_t ConnectedSearch::LowestTop(const Items& items) const {
  return *std::ranges::min_element(items, [&](uint32_t a, uint32_t b) {
    if (Top(a) != Top(b)) return Top(a) < Top(b);
    return priorities_[a] > priorities_[b];
  });
}

ConnectedSearch::Items ConnectedSearch::Branches(uint32_t lowest) {
  Items branches = {lowest};
  for (const uint32_t i : conflicts_.of(lowest)) {
    if (!is_placed(i) && heads_[i] < Top(lowest)) branches.push_back(i);
  }
  effort_->Spend(std::ssize(conflicts_.of(lowest)));
  std::ranges::sort(branches, [&](uint32_t a, uint32_t b) {
    if (lowest_head_first_ && heads_[a] != heads_[b]) {
      return heads_[a] < heads_[b];
    }
    if (priorities_[a] != priorities_[b]) {
      return priorities_[a] > priorities_[b];
    }
    return a < b;
  });
  return branches;
}

// False if the remaining items no longer fit.
bool ConnectedSearch::PutOnHead(uint32_t i) {
  const int64_t top = Top(i);
  if (top > capacity_) return false;
  offsets_[i] = heads_[i];
  placed_.push_back(i);
  AddBridges(i, -1);
  MakeDirty(i);
  for (const uint32_t j : conflicts_.of(i)) {
    if (!is_placed(j)) RaiseHead(j, top);
  }
  effort_->Spend(std::ssize(conflicts_.of(i)));
  return CheckDirty();
}

void ConnectedSearch::RaiseHead(uint32_t i, int64_t head) {
  if (heads_[i] >= head) return;
  old_heads_.push_back({i, heads_[i]});
  heads_[i] = head;
  MakeDirty(i);
}

bool ConnectedSearch::PlaceRest(const Items& items, uint32_t placed) {
  Items rest;
  rest.reserve(items.size() - 1);
  std::ranges::copy_if(items, std::back_inserter(rest),
                       [&](uint32_t i) { return i != placed; });
  if (!FellApart(placed)) return Place(rest);
  return std::ranges::all_of(Parts(std::move(rest)),
                             [&](const Items& part) { return Place(part); });
}

// The parts of `items` that do not overlap in time, the smallest first.
std::vector<ConnectedSearch::Items> ConnectedSearch::Parts(Items items) const {
  std::ranges::stable_sort(items, {},
                           [&](uint32_t i) { return item(i).span.begin; });
  std::vector<Items> parts;
  int64_t end = -1;
  for (const uint32_t i : items) {
    if (item(i).span.begin >= end) parts.emplace_back();
    parts.back().push_back(i);
    end = std::max(end, item(i).span.end);
  }
  std::ranges::stable_sort(parts, {}, &Items::size);
  return parts;
}

// Bridges: unplaced items that reach from a section into the next.
void ConnectedSearch::AddBridges(uint32_t i, int32_t count) {
  const Interval& span = item(i).span;
  for (int64_t s = span.begin; s + 1 < span.end; ++s) {
    bridges_[static_cast<size_t>(s)] += count;
  }
}

bool ConnectedSearch::FellApart(uint32_t placed) const {
  const Interval& span = item(placed).span;
  return std::any_of(bridges_.begin() + span.begin,
                     bridges_.begin() + (span.end - 1),
                     [](int32_t count) { return count == 0; });
}

void ConnectedSearch::MakeDirty(uint32_t i) {
  ForEachSection(item(i), [&](size_t s) {
    if (is_dirty_[s]) return;
    is_dirty_[s] = true;
    dirty_.push_back(s);
  });
}

// Whether all changed sections can still hold their items. The weights of the
// unplaced items of the first section that cannot are increased.
bool ConnectedSearch::CheckDirty() {
  bool fits = true;
  for (const size_t s : dirty_) {
    is_dirty_[s] = false;
    if (!fits || Fits(in_section_[s])) continue;
    fits = false;
    for (const uint32_t i : in_section_[s]) {
      if (!is_placed(i)) weights_[i] += 1.0;
    }
  }
  dirty_.clear();
  return fits;
}

// The pruning bound of the header comment, for the items of one section.
bool ConnectedSearch::Fits(Items& items) {
  effort_->Spend(std::ssize(items));
  SortByHead(items);
  int64_t above = 0;
  return std::ranges::all_of(items, [&](uint32_t i) {
    if (is_placed(i)) return true;
    above += item(i).size;
    return heads_[i] + above <= capacity_;
  });
}

// Highest first. Insertion sort, since little has changed since the last time.
void ConnectedSearch::SortByHead(Items& items) const {
  for (size_t k = 1; k < items.size(); ++k) {
    const uint32_t moving = items[k];
    size_t to = k;
    for (; to > 0 && heads_[items[to - 1]] < heads_[moving]; --to) {
      items[to] = items[to - 1];
    }
    items[to] = moving;
  }
}

void ConnectedSearch::UndoTo(const Mark& mark) {
  for (; placed_.size() > mark.placed; placed_.pop_back()) {
    offsets_[placed_.back()] = -1;
    AddBridges(placed_.back(), 1);
  }
  for (; old_heads_.size() > mark.heads; old_heads_.pop_back()) {
    heads_[old_heads_.back().item] = old_heads_.back().head;
  }
}

}  // namespace spillway

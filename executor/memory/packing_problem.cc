#include "executor/memory/packing_problem.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace spillway {
namespace {

// The beginning or end of a piece of an item's lifetime.
struct Event {
  int64_t at = 0;
  bool is_begin = false;  // ends come first
  size_t item = 0;
  size_t piece = 0;
};

// The lifetime without its gaps.
std::vector<Interval> LivePieces(const PackingItem& item) {
  std::vector<Interval> pieces;
  int64_t begin = item.lifetime.begin;
  for (const Interval& gap : item.gaps) {
    if (begin < gap.begin) pieces.push_back({begin, gap.begin});
    begin = gap.end;
  }
  if (begin < item.lifetime.end) pieces.push_back({begin, item.lifetime.end});
  return pieces;
}

// Numbers the sections: a section ends at each end that follows a begin.
// Replaces the times in `pieces` (by item) and returns the number of sections.
int64_t ReplaceTimesBySections(std::vector<std::vector<Interval>>& pieces) {
  std::vector<Event> events;
  events.reserve(2 * pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t k = 0; k < pieces[i].size(); ++k) {
      events.push_back({pieces[i][k].begin, true, i, k});
      events.push_back({pieces[i][k].end, false, i, k});
    }
  }
  std::ranges::sort(events, {}, [](const Event& event) {
    return std::tuple(event.at, event.is_begin, event.item, event.piece);
  });
  int64_t section = 0;
  bool has_new_items = false;
  for (const Event& event : events) {
    Interval& piece = pieces[event.item][event.piece];
    if (event.is_begin) {
      piece.begin = section;
      has_new_items = true;
    } else {
      if (has_new_items) ++section;
      has_new_items = false;
      piece.end = section;
    }
  }
  return section;
}

void AddLoads(int64_t num_sections, PackingProblem& problem) {
  std::vector<int64_t> changes(static_cast<size_t>(num_sections) + 1, 0);
  for (const ProblemItem& item : problem.items) {
    for (const Interval& piece : item.occupied()) {
      changes[static_cast<size_t>(piece.begin)] += item.size;
      changes[static_cast<size_t>(piece.end)] -= item.size;
    }
  }
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  changes.pop_back();
  problem.loads = std::move(changes);
}

}  // namespace

PackingProblem MakeProblem(std::span<const PackingItem> items,
                           int64_t alignment) {
  PackingProblem problem;
  std::vector<std::vector<Interval>> pieces;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].bytes == 0) continue;
    std::vector<Interval> live = LivePieces(items[i]);
    if (live.empty()) continue;
    pieces.push_back(std::move(live));
    problem.ids.push_back(i);
  }
  const int64_t num_sections = ReplaceTimesBySections(pieces);
  problem.items.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    ProblemItem& item = problem.items[i];
    item.size = (items[problem.ids[i]].bytes - 1) / alignment + 1;
    item.span = {pieces[i].front().begin, pieces[i].back().end};
    if (pieces[i].size() > 1) item.pieces = std::move(pieces[i]);
  }
  AddLoads(num_sections, problem);
  return problem;
}

PackingProblem Extract(const PackingProblem& problem,
                       std::span<const size_t> items) {
  PackingProblem part;
  part.ids.assign(items.begin(), items.end());
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const size_t id : items) {
    part.items.push_back(problem.items[id]);
    first = std::min(first, part.items.back().span.begin);
    end = std::max(end, part.items.back().span.end);
  }
  for (ProblemItem& item : part.items) {
    item.span = {item.span.begin - first, item.span.end - first};
    for (Interval& piece : item.pieces) {
      piece = {piece.begin - first, piece.end - first};
    }
  }
  AddLoads(items.empty() ? 0 : end - first, part);
  return part;
}

std::vector<std::vector<size_t>> SplitByTime(const PackingProblem& problem) {
  std::vector<size_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](size_t i) { return problem.items[i].span.begin; });
  std::vector<std::vector<size_t>> groups;
  int64_t end = -1;
  for (const size_t i : order) {
    const Interval& span = problem.items[i].span;
    if (groups.empty() || span.begin >= end) groups.emplace_back();
    groups.back().push_back(i);
    end = std::max(end, span.end);
  }
  return groups;
}

int64_t MaxLoad(const PackingProblem& problem) {
  return problem.loads.empty() ? 0 : *std::ranges::max_element(problem.loads);
}

int64_t Height(const PackingProblem& problem,
               std::span<const int64_t> offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + problem.items[i].size);
  }
  return height;
}

}  // namespace spillway

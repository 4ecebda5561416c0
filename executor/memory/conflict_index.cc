#include "executor/memory/conflict_index.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace spillway {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;

bool ShareSection(const ProblemItem& a, const ProblemItem& b) {
  if (a.pieces.empty() && b.pieces.empty()) return Overlap(a.span, b.span);
  return std::ranges::any_of(a.occupied(), [&](const Interval& piece) {
    return std::ranges::any_of(b.occupied(), [&](const Interval& other) {
      return Overlap(piece, other);
    });
  });
}

std::vector<uint32_t> ByBegin(const PackingProblem& problem) {
  std::vector<uint32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, {}, [&](uint32_t i) { return problem.items[i].span.begin; });
  return order;
}

// All conflicting pairs; nothing if there are too many.
std::optional<std::vector<Pair>> FindPairs(const PackingProblem& problem,
                                           int64_t max_pairs) {
  std::vector<Pair> pairs;
  std::vector<uint32_t> alive;
  int64_t seen = 0;
  for (const uint32_t i : ByBegin(problem)) {
    const ProblemItem& item = problem.items[i];
    std::erase_if(alive, [&](uint32_t j) {
      return problem.items[j].span.end <= item.span.begin;
    });
    seen += static_cast<int64_t>(alive.size());
    if (seen > max_pairs) return std::nullopt;
    for (const uint32_t j : alive) {
      if (ShareSection(item, problem.items[j])) pairs.emplace_back(i, j);
    }
    alive.push_back(i);
  }
  return pairs;
}

}  // namespace

std::optional<ConflictIndex> ConflictIndex::Make(const PackingProblem& problem,
                                                 int64_t max_pairs) {
  const std::optional<std::vector<Pair>> pairs = FindPairs(problem, max_pairs);
  if (!pairs) return std::nullopt;
  ConflictIndex index;
  index.first_.assign(problem.items.size() + 1, 0);
  for (const auto& [a, b] : *pairs) {
    ++index.first_[a + 1];
    ++index.first_[b + 1];
  }
  std::partial_sum(index.first_.begin(), index.first_.end(),
                   index.first_.begin());
  index.items_.resize(2 * pairs->size());
  std::vector<size_t> next(index.first_.begin(), index.first_.end() - 1);
  for (const auto& [a, b] : *pairs) {
    index.items_[next[a]++] = b;
    index.items_[next[b]++] = a;
  }
  return index;
}

}  // namespace spillway

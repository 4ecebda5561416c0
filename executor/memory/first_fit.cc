#include "executor/memory/first_fit.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace spillway {
namespace {

// Small keys come first; equal keys keep the lower index first.
template <typename Key>
std::vector<size_t> Sorted(size_t size, Key key) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

// For each item, the largest load of a section that it occupies. A sparse
// table: level k holds at each section the largest load of 2^k sections from
// there on.
std::vector<int64_t> PeakLoads(const PackingProblem& problem) {
  std::vector<std::vector<int64_t>> levels = {problem.loads};
  for (size_t width = 1; 2 * width <= problem.loads.size(); width *= 2) {
    const std::vector<int64_t>& last = levels.back();
    std::vector<int64_t> next(last.size() - width);
    for (size_t s = 0; s < next.size(); ++s) {
      next[s] = std::max(last[s], last[s + width]);
    }
    levels.push_back(std::move(next));
  }
  std::vector<int64_t> peaks(problem.items.size(), 0);
  for (size_t i = 0; i < peaks.size(); ++i) {
    for (const Interval& piece : problem.items[i].occupied()) {
      const auto length = static_cast<uint64_t>(piece.length());
      const size_t level = static_cast<size_t>(std::bit_width(length)) - 1;
      const auto begin = static_cast<size_t>(piece.begin);
      const size_t last = static_cast<size_t>(piece.end) - (size_t{1} << level);
      peaks[i] =
          std::max({peaks[i], levels[level][begin], levels[level][last]});
    }
  }
  return peaks;
}

// log2, but linear between powers of two: bitwise identical on every machine.
double RoughLog2(int64_t x) {
  const auto exponent =
      static_cast<int>(std::bit_width(static_cast<uint64_t>(x))) - 1;
  return exponent +
         static_cast<double>(x) / static_cast<double>(int64_t{1} << exponent) -
         1;
}

}  // namespace

std::vector<int64_t> FirstFit(const PackingProblem& problem,
                              const ConflictIndex& conflicts,
                              std::span<const size_t> order,
                              PackingEffort& effort) {
  constexpr int64_t kNotPlaced = -1;
  std::vector<int64_t> offsets(problem.items.size(), kNotPlaced);
  std::vector<Interval> taken;  // by items that conflict with the next one
  for (const size_t i : order) {
    taken.clear();
    for (const uint32_t j : conflicts.of(i)) {
      if (offsets[j] == kNotPlaced) continue;
      taken.push_back({offsets[j], offsets[j] + problem.items[j].size});
    }
    std::ranges::sort(taken, {}, &Interval::begin);
    int64_t offset = 0;
    for (const Interval& other : taken) {
      if (offset + problem.items[i].size <= other.begin) break;
      offset = std::max(offset, other.end);
    }
    offsets[i] = offset;
    effort.Spend(static_cast<int64_t>(conflicts.of(i).size()) + 1);
  }
  return offsets;
}

std::vector<std::vector<size_t>> FirstFitOrders(const PackingProblem& problem) {
  const std::vector<ProblemItem>& items = problem.items;
  const std::vector<int64_t> peaks = PeakLoads(problem);
  const size_t n = items.size();
  const auto size = [&](size_t i) { return items[i].size; };
  const auto length = [&](size_t i) { return items[i].span.length(); };
  const auto begin = [&](size_t i) { return items[i].span.begin; };
  const auto end = [&](size_t i) { return items[i].span.end; };
  return {
      Sorted(n, [&](size_t i) { return std::tuple(-peaks[i], -size(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(-size(i), -length(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(-peaks[i], -length(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(-length(i), -size(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(begin(i), -size(i)); }),
      Sorted(n, [&](size_t i) { return std::tuple(-end(i), -size(i)); }),
  };
}

FirstFitImprover::FirstFitImprover(const PackingProblem& problem,
                                   const ConflictIndex& conflicts)
    : problem_(problem),
      conflicts_(conflicts),
      weights_(problem.items.size(), 0.0) {}

void FirstFitImprover::Improve(int64_t goal, PackingEffort& effort,
                               std::vector<int64_t>& offsets) {
  int64_t best = Height(problem_, offsets);
  while (best > goal && !effort.exhausted()) {
    std::vector<int64_t> next =
        FirstFit(problem_, conflicts_, NextOrder(), effort);
    Learn(next, goal, effort);
    const int64_t height = Height(problem_, next);
    if (height >= best) continue;
    best = height;
    offsets = std::move(next);
  }
}

// Items with a large weight first: the weight alone, times the length, or times
// the size, in turn.
std::vector<size_t> FirstFitImprover::NextOrder() {
  const int64_t measure = round_++ % 3;
  return Sorted(weights_.size(), [&](size_t i) {
    const ProblemItem& item = problem_.items[i];
    if (measure == 0) return -weights_[i];
    return -weights_[i] -
           RoughLog2(measure == 1 ? item.span.length() : item.size);
  });
}

void FirstFitImprover::Learn(std::span<const int64_t> offsets, int64_t goal,
                             PackingEffort& effort) {
  constexpr double kFading = 0.99;  // older experience counts less
  constexpr double kStuckOut = 0.38;
  constexpr double kWasInTheWay = 0.043;
  for (double& weight : weights_) weight *= kFading;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] + problem_.items[i].size <= goal) continue;
    weights_[i] += kStuckOut;
    for (const uint32_t j : conflicts_.of(i)) weights_[j] += kWasInTheWay;
    effort.Spend(std::ssize(conflicts_.of(i)));
  }
}

}  // namespace spillway

// A packing problem in the form that this folder's algorithms use: sizes in
// units of the alignment, time in sections.
//
// A section is a maximal set of items that are all live together; sections are
// numbered in order of time. Two items conflict exactly if they share a
// section:
// numbered in order of time. Two items conflict exactly if they share one:
//
//   items      a [=======]          sections   0: a b
//              b     [=======]                 1: b c d
//              c          [====]
//              d         [==]
//
// So there are at most as many sections as items, and the largest load of a
// section is the largest sum of live sizes at any time.
#ifndef SPILLWAY_EXECUTOR_MEMORY_PACKING_PROBLEM_H_
#define SPILLWAY_EXECUTOR_MEMORY_PACKING_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"
#include "executor/memory/static_packing.h"

namespace spillway {

struct ProblemItem {
  int64_t size = 0;    // units, > 0
  Interval span = {};  // first section to the one after the last
  // The sections that it occupies, if not all of `span`; ascending.
  std::vector<Interval> pieces = {};

  std::span<const Interval> occupied() const {
    return pieces.empty() ? std::span<const Interval>(&span, 1)
                          : std::span<const Interval>(pieces);
  }
  friend bool operator==(const ProblemItem&, const ProblemItem&) = default;
};

struct PackingProblem {
  std::vector<ProblemItem> items = {};
  std::vector<int64_t> loads = {};  // by section: sum of its items' sizes
  std::vector<size_t> ids = {};     // by item: its index in the source

  int64_t num_sections() const { return static_cast<int64_t>(loads.size()); }
};

// Items without bytes or without a lifetime are left out. O(n log n).
PackingProblem MakeProblem(std::span<const PackingItem> items,
                           int64_t alignment);

// The part of `problem` that consists of `items`, in that order; ids are
// indices in `problem`.
PackingProblem Extract(const PackingProblem& problem,
                       std::span<const size_t> items);

// Groups of items that share no section, nor the inside of a gap, with items of
// another group; in order of time.
std::vector<std::vector<size_t>> SplitByTime(const PackingProblem& problem);

// The largest load; 0 without items.
int64_t MaxLoad(const PackingProblem& problem);

// One past the last unit that any item uses.
int64_t Height(const PackingProblem& problem, std::span<const int64_t> offsets);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_PACKING_PROBLEM_H_

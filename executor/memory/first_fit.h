// First fit: takes items in some order and gives each the lowest offset at
// which it overlaps no earlier placed item that is live at the same time.
//
// Every placement that cannot be lowered is the first fit in the order of its
// offsets, so the quality depends only on the order.
// Source: Sekiyama et al., "Profile-guided memory optimization for deep neural
// networks" (2018), for lists by size; Joslin and Clements, "Squeaky wheel
// optimization", JAIR 10 (1999), for changing the list.
#ifndef SPILLWAY_EXECUTOR_MEMORY_FIRST_FIT_H_
#define SPILLWAY_EXECUTOR_MEMORY_FIRST_FIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/memory/conflict_index.h"
#include "executor/memory/packing_effort.h"
#include "executor/memory/packing_problem.h"

namespace spillway {

// Offsets by item, in units. Costs the total length of the conflict lists,
// which is spent from `effort`.
std::vector<int64_t> FirstFit(const PackingProblem& problem,
                              const ConflictIndex& conflicts,
                              std::span<const size_t> order,
                              PackingEffort& effort);

// The orders to try first: by the largest load of an item's sections, then
// size; by size; by that load, then length; by length; by begin; by latest end.
std::vector<std::vector<size_t>> FirstFitOrders(const PackingProblem& problem);

// Lowers a placement by repeated first fit. Items that exceeded the goal, and
// the items that were in their way, come earlier in each next order.
class FirstFitImprover {
 public:
  // Borrows both arguments for its lifetime.
  FirstFitImprover(const PackingProblem& problem,
                   const ConflictIndex& conflicts);

  // Continues until `effort` is spent or the height is at most `goal`;
  // `offsets` changes only to a lower placement.
  void Improve(int64_t goal, PackingEffort& effort,
               std::vector<int64_t>& offsets);

 private:
  std::vector<size_t> NextOrder();
  void Learn(std::span<const int64_t> offsets, int64_t goal,
             PackingEffort& effort);

  const PackingProblem& problem_;
  const ConflictIndex& conflicts_;
  std::vector<double> weights_;  // by item, as logarithms
  int64_t round_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_FIRST_FIT_H_

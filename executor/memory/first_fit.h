// First fit: items in some order, each at the lowest offset where it overlaps
// none that was placed before it and is alive at the same time.
//
// Every placement that cannot be lowered is first fit in the order of its
// offsets, so the whole art is in the order.
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

// Offsets by item, in units. Costs the length of all lists of conflicts, which
// is spent from `effort`.
std::vector<int64_t> FirstFit(const PackingProblem& problem,
                              const ConflictIndex& conflicts,
                              std::span<const size_t> order,
                              PackingEffort& effort);

// What is tried first: by the largest load of an item's sections, then size; by
// size; by that load, then length.
std::vector<std::vector<size_t>> FirstFitOrders(const PackingProblem& problem);

// Brings a placement down by first fit again and again, in an order in which
// what stuck out of the goal, and what was in its way, comes earlier each time.
class FirstFitImprover {
 public:
  // Borrows both for as long as it lives.
  FirstFitImprover(const PackingProblem& problem,
                   const ConflictIndex& conflicts);

  // Goes on until `effort` is spent or the height is at most `goal`; `offsets`
  // changes only to lower ones.
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

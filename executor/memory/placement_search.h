// Search for a placement within a given capacity: decomposes the problem, then
// searches the parts (connected_search.h).
//
// Parts that share no section are placed independently. Within a part, items
// that span all of it go to the bottom: any placement can be changed into such
// a one by moving up the items below them. The remaining items may fall apart
// again.
#ifndef SPILLWAY_EXECUTOR_MEMORY_PLACEMENT_SEARCH_H_
#define SPILLWAY_EXECUTOR_MEMORY_PLACEMENT_SEARCH_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "executor/memory/connected_search.h"
#include "executor/memory/packing_effort.h"
#include "executor/memory/packing_problem.h"

namespace spillway {

class PlacementSearch {
 public:
  // Copies the parts of `problem` that it needs.
  PlacementSearch(const PackingProblem& problem, int64_t capacity);

  // Continues the search until `effort` is spent or the answer is known.
  SearchOutcome Continue(PackingEffort& effort);

  int64_t capacity() const { return capacity_; }
  // By item, in units; complete once the placement is found.
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  // A search whose items, listed in `ids`, lie above `bottom`.
  struct Part {
    std::vector<size_t> ids = {};
    int64_t bottom = 0;
    ConnectedSearch search;
  };

  void TakeApart(const PackingProblem& problem, const std::vector<size_t>& ids,
                 int64_t bottom);

  int64_t capacity_ = 0;
  bool is_possible_ = true;  // the loads fit the capacity
  std::vector<int64_t> offsets_;
  std::deque<Part> open_;  // not found yet; the first is searched
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_PLACEMENT_SEARCH_H_

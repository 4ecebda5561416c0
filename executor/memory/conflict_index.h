// For each item, the items that are live at the same time.
//
// Memory: 8 bytes per pair. Time: O(n log n + pairs).
#ifndef SPILLWAY_EXECUTOR_MEMORY_CONFLICT_INDEX_H_
#define SPILLWAY_EXECUTOR_MEMORY_CONFLICT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/memory/packing_problem.h"

namespace spillway {

class ConflictIndex {
 public:
  // Nothing if more than `max_pairs` pairs of items overlap in time.
  static std::optional<ConflictIndex> Make(const PackingProblem& problem,
                                           int64_t max_pairs);

  // In no particular order.
  std::span<const uint32_t> of(size_t item) const {
    return std::span(items_).subspan(first_[item],
                                     first_[item + 1] - first_[item]);
  }

 private:
  std::vector<size_t> first_;  // by item: where its conflicts begin in items_
  std::vector<uint32_t> items_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_CONFLICT_INDEX_H_

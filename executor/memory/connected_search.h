// Depth-first search for a placement within a given capacity, for items whose
// lifetimes overlap, directly or through other items.
//
// It fills every section from the bottom. Each item has a head: the lowest
// offset that the items placed so far leave for it. Among all items still to be
// placed, let j be the one whose top would be lowest if it were placed on its
// head. In any placement that cannot be lowered, either j lies on its head, or
// an item that conflicts with j begins below that top, on its own head. These
// cases are the branches; each excludes the earlier ones by raising their heads
// to that top. (These are the active schedules of Giffler and Thompson,
// "Algorithms for solving production-scheduling problems", Operations Research
// 8 (1960), with offsets for times and sections for machines.)
//
// Pruning:
//   - A section whose items do not fit above their heads ends the branch: for
//     some h, h plus the sizes of all items with a head of at least h exceeds
//     the capacity.
//   - If the remaining items fall apart in time, the parts are searched one by
//     one. A part that fails is not tried again with another placement of the
//     other parts.
//
// The order of branches is decisive. It follows weights that grow with every
// cut in a section of the item and persist over restarts. A restart comes after
// a number of nodes from Luby's sequence (Luby, Sinclair, Zuckerman, "Optimal
// speedup of Las Vegas algorithms", 1993) and uses the next branch order.
//
// Related: Moffitt, "MiniMalloc: a lightweight memory allocator for
// hardware-accelerated machine learning", ASPLOS 2023: canonical placements,
// bounds by section, decomposition in time.
#ifndef SPILLWAY_EXECUTOR_MEMORY_CONNECTED_SEARCH_H_
#define SPILLWAY_EXECUTOR_MEMORY_CONNECTED_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/memory/conflict_index.h"
#include "executor/memory/packing_effort.h"
#include "executor/memory/packing_problem.h"

namespace spillway {

enum class SearchOutcome : uint8_t {
  kFound,
  kImpossible,  // proven: no such placement exists
  kGaveUp,      // the effort is spent; more may help
};

class ConnectedSearch {
 public:
  // Lists all conflicts: meant for up to some thousand items.
  ConnectedSearch(PackingProblem problem, int64_t capacity);

  // Continues the search until `effort` is spent or the answer is known.
  SearchOutcome Continue(PackingEffort& effort);

  const PackingProblem& problem() const { return problem_; }
  // By item, in units; complete once the placement is found.
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  using Items = std::vector<uint32_t>;

  struct OldHead {
    uint32_t item = 0;
    int64_t head = 0;
  };
  // A state of the search; later changes can be undone.
  struct Mark {
    size_t heads = 0;
    size_t placed = 0;
  };

  const ProblemItem& item(uint32_t i) const { return problem_.items[i]; }
  int64_t Top(uint32_t i) const { return heads_[i] + item(i).size; }
  bool is_placed(uint32_t i) const { return offsets_[i] >= 0; }
  bool must_stop() const { return nodes_left_ <= 0 || effort_->exhausted(); }

  void Restart(int64_t round);
  void FindPriorities(int64_t round);

  bool Place(const Items& items);
  uint32_t LowestTop(const Items& items) const;
  Items Branches(uint32_t lowest);
  bool PutOnHead(uint32_t i);
  void RaiseHead(uint32_t i, int64_t head);
  bool PlaceRest(const Items& items, uint32_t placed);
  std::vector<Items> Parts(Items items) const;

  void AddBridges(uint32_t i, int32_t count);
  bool FellApart(uint32_t placed) const;

  void MakeDirty(uint32_t i);
  bool CheckDirty();
  bool Fits(Items& items);
  void SortByHead(Items& items) const;

  Mark Now() const { return {old_heads_.size(), placed_.size()}; }
  void UndoTo(const Mark& mark);

  PackingProblem problem_;
  ConflictIndex conflicts_;
  int64_t capacity_ = 0;
  std::vector<Items> in_section_;    // by section, in any order
  std::vector<Items> twins_;         // by item: others of its size and span
  std::vector<double> weights_;      // by item, kept over restarts
  int64_t round_ = 0;                // restarts so far
  PackingEffort* effort_ = nullptr;  // borrowed by Continue

  // State of the current restart:
  int64_t nodes_left_ = 0;
  bool lowest_head_first_ = true;
  std::vector<double> priorities_;  // by item
  std::vector<int64_t> heads_;      // by item
  std::vector<int64_t> offsets_;    // by item; -1: not placed
  std::vector<OldHead> old_heads_;  // what to undo, the newest last
  Items placed_;                    // likewise
  std::vector<int32_t> bridges_;    // by section: see AddBridges
  std::vector<size_t> dirty_;       // sections to be checked
  std::vector<bool> is_dirty_;      // by section
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_CONNECTED_SEARCH_H_

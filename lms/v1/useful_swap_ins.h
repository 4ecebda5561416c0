// Swap-ins that free memory: the device copy is freed before the swap-in
// begins. The original swaps without this check.
#ifndef SPILLWAY_LMS_V1_USEFUL_SWAP_INS_H_
#define SPILLWAY_LMS_V1_USEFUL_SWAP_INS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v1/notes.h"
#include "lms/v1/orders.h"
#include "lms/v1/triggers.h"

namespace spillway {

// Ownership: borrows all its arguments; appends each reader that stays on the
// device copy to `dropped`, with the reason.
class UsefulSwapIns {
 public:
  struct Parts {
    const LmsOptions& options;
    const Graph& graph;
    const V1Orders& orders;
    const IdMap<NodeId, int32_t>& levels;
    const StorageMap& storages;
    TriggerFinder& triggers;
    V1Notes& notes;
    std::vector<DroppedCandidate>& dropped;
  };
  explicit UsefulSwapIns(const Parts& parts) : parts_(parts) {}

  // For `readers` of `value`, by id, each of known order. All other readers of
  // the bytes, under any name, read the device copy. A reader moves to a
  // swap-in (one each, or with fuse_swapins one for all that move) if the
  // swap-in has a trigger in a later level than all readers of the device copy.
  // Readers that do not move read the device copy too.
  std::vector<SwapIn> Find(ValueId value, const std::vector<NodeId>& readers);

 private:
  std::vector<SwapIn> OneEach(ValueId value, const std::vector<NodeId>& readers,
                              int32_t stays_until);
  std::vector<SwapIn> OneForAll(ValueId value, std::vector<NodeId> readers,
                                int32_t stays_until);
  void KeepUsefulGaps(ValueId value, int32_t stays_until,
                      std::vector<SwapIn>& moved);
  int32_t LastDirectReader(ValueId value,
                           const std::vector<NodeId>& moved) const;
  std::vector<NodeId> TriggersOf(ValueId value, NodeId reader);
  void Drop(ValueId value, std::string_view why, NodeId reader);

  const Parts parts_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_USEFUL_SWAP_INS_H_

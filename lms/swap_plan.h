// SwapPlan: which values leave the device, which uses read them after they came
// back, and what starts each swap-in. Data only.
#ifndef SPILLWAY_LMS_SWAP_PLAN_H_
#define SPILLWAY_LMS_SWAP_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/node.h"

namespace spillway {

// One copy back to the device.
//
//   before   x --+-- near
//                +-- Reshape y --+-- near
//                                +-- far
//
//   after    x --+-- near
//                +-- Reshape y -- near
//                +-- out -- in -- Reshape y' -- far
struct SwapIn {
  // All their slots that read the value, or the output of one of `aliases`.
  std::vector<NodeId> readers = {};
  std::vector<NodeId> triggers = {};  // control edges trigger -> swap-in
  // Pure aliases (graph/storage.h) between the value and its readers: recreated
  // from the copy, each after the alias that it reads.
  std::vector<NodeId> aliases = {};
};

// One copy to the host.
struct Swap {
  ValueId value = {};
  std::vector<SwapIn> swap_ins = {};
  std::vector<NodeId> waiters = {};  // control edges swap-out -> waiter
};

// A candidate that stays on the device (for these readers), and why.
struct DroppedCandidate {
  ValueId value = {};
  std::string reason = {};
};

// A control edge between two nodes of the original graph.
struct AddedOrder {
  NodeId before = {};
  NodeId after = {};
};

// A message of the planner: level 0 always, 1 and 2 with debug_level.
struct LogLine {
  int64_t level = 0;
  std::string text = {};
};

struct SwapPlan {
  std::vector<Swap> swaps = {};  // in order of creation
  std::vector<AddedOrder> orders = {};
  std::vector<DroppedCandidate> dropped = {};
  std::vector<LogLine> log = {};
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_SWAP_PLAN_H_

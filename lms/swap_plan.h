// SwapPlan: which values leave the device, which uses read them after they came
// back, and what starts each way back. Data only.
#ifndef SPILLWAY_LMS_SWAP_PLAN_H_
#define SPILLWAY_LMS_SWAP_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/node.h"

namespace spillway {

// One copy back to the device.
//
//   before   x --+-- near          after   x --+-- near
//                +-- Reshape y                 +-- Reshape y -- near
//   far, near ---- y                           +-- out -- in --- Reshape y' --
//   far
struct SwapIn {
  // All their slots that read the value, or what one of `aliases` makes of it.
  std::vector<NodeId> readers = {};
  std::vector<NodeId> triggers = {};  // control edges trigger -> swap-in
  // Pure aliases (graph/storage.h) by which the readers know the value's bytes:
  // made again from the copy, each after the one that it reads.
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

// What planning has to tell: level 0 always, 1 and 2 with debug_level.
struct LogLine {
  int64_t level = 0;
  std::string text = {};
};

struct SwapPlan {
  std::vector<Swap> swaps = {};  // in the order in which they are made
  std::vector<AddedOrder> orders = {};
  std::vector<DroppedCandidate> dropped = {};
  std::vector<LogLine> log = {};
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_SWAP_PLAN_H_

// RecomputePlan: which nodes are computed a second time within a step, by which
// nodes, and who reads the new values. Data only.
//
//   before   x -> bn -> y -> conv2 ............................ filter gradient
//
//   after    x -> bn -> y -> conv2           trigger - - +         ^
//             \                                          v         |
//              +------------------------> lms/recompute_bn -> y' --+
//
// y is free after conv2, its last reader; y' exists from the clone to the
// filter gradient.
#ifndef SPILLWAY_LMS_RECOMPUTE_RECOMPUTE_PLAN_H_
#define SPILLWAY_LMS_RECOMPUTE_RECOMPUTE_PLAN_H_

#include <cstdint>
#include <vector>

#include "graph/node.h"
#include "lms/swap_plan.h"

namespace spillway {

// What an input slot of a clone reads: a value of the original graph, or an
// output of an earlier clone of the plan.
struct CloneInput {
  ValueId value = {};  // if `clone` is -1
  int32_t clone = -1;  // index into RecomputePlan::clones
  int32_t output = 0;  // of that clone
};

// Nodes of the original graph that read an output of the clone in place of the
// original's value: with all their slots that read that value. (Clones that
// read it say so in their inputs.)
struct CloneReaders {
  int32_t output = 0;  // of the clone
  std::vector<NodeId> readers = {};
};

// One node that is computed again.
struct Clone {
  NodeId original = {};
  // -1: the clone has the original's op, attributes and outputs. Otherwise it
  // is the node that OpDef::derive gives for this output of the original, and
  // it has one output.
  int32_t derived_output = -1;
  std::vector<CloneInput> inputs = {};  // slot by slot
  std::vector<NodeId> triggers = {};    // control edges trigger -> clone
  std::vector<CloneReaders> readers = {};
};

struct RecomputePlan {
  std::vector<Clone> clones = {};  // each after the clones that it reads
  // Clone `before` (an index) must run before node `after`, which overwrites a
  // variable that the clone reads.
  struct Order {
    int32_t before = 0;
    NodeId after = {};
  };
  std::vector<Order> orders = {};
  std::vector<DroppedCandidate> dropped = {};
};

// The output of the original that output `output` of the clone equals.
inline int32_t OriginalOutput(const Clone& clone, int32_t output) {
  return clone.derived_output < 0 ? output : clone.derived_output;
}

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_RECOMPUTE_PLAN_H_

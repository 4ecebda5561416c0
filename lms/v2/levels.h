// Levels as TFLMS version 2 counts them: the longest distance from the nodes
// without predecessors, over data and control edges, without loops.
#ifndef SPILLWAY_LMS_V2_LEVELS_H_
#define SPILLWAY_LMS_V2_LEVELS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace spillway {

struct V2Levels {
  IdMap<NodeId, int32_t> level_of;              // -1: none
  std::vector<std::vector<NodeId>> nodes = {};  // of each level, by id

  int32_t num_levels() const { return static_cast<int32_t>(nodes.size()); }
  // -1 also for nodes that were added after the levels were found.
  int32_t of(NodeId id) const {
    return id.index() < level_of.size() ? level_of[id] : -1;
  }
};

// Inside a loop (names with "while/") only Enter, Exit, Merge (which ignores
// NextIteration) and Switch (which ignores LoopCond) have levels; a node that
// depends on a node without a level has none either. Cost: linear.
V2Levels FindV2Levels(const Graph& graph);

// Whether the node is in a loop's body or in a branch. Enter and Exit are
// outside of a loop's body, Merge and Switch outside of a branch.
bool IsInsideLoop(const Node& node);
bool IsInsideBranch(const Node& node);

// Variable, VariableV2, VarHandleOp.
bool IsVariable(const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_LEVELS_H_

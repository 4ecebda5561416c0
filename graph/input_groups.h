// What an op definition says of a node that has several groups of inputs (see
// OpDef::group_inputs). `num_inputs` is the node's; for an op without groups it
// does not matter.
#ifndef SPILLWAY_GRAPH_INPUT_GROUPS_H_
#define SPILLWAY_GRAPH_INPUT_GROUPS_H_

#include <cstddef>
#include <vector>

#include "graph/op_def.h"

namespace spillway {

// 1 for an op without groups.
int NumGroups(const OpDef& def, size_t num_inputs);

// OpDef::alias and OpDef::mutates of all groups, the first group first.
std::vector<BufferPair> AliasesOf(const OpDef& def, size_t num_inputs);
std::vector<int> MutatedInputs(const OpDef& def, size_t num_inputs);

// The input whose bytes output `output` is, by OpDef::alias; -1: it has bytes
// of its own.
int AliasedInput(const OpDef& def, int output);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_INPUT_GROUPS_H_

// What an op definition says about a node with several groups of inputs (see
// OpDef::group_inputs). `num_inputs` is the node's; it is ignored for an op
// without groups.
#ifndef SPILLWAY_GRAPH_INPUT_GROUPS_H_
#define SPILLWAY_GRAPH_INPUT_GROUPS_H_

#include <cstddef>
#include <vector>

#include "graph/op_def.h"

namespace spillway {

// 1 for an op without groups.
int NumGroups(const OpDef& def, size_t num_inputs);

// OpDef::alias, OpDef::in_place and OpDef::mutates of all groups, in order of
// groups.
std::vector<BufferPair> AliasesOf(const OpDef& def, size_t num_inputs);
std::vector<BufferPair> InPlacePairsOf(const OpDef& def, size_t num_inputs);
std::vector<int> MutatedInputs(const OpDef& def, size_t num_inputs);

// The input whose bytes output `output` shares, by OpDef::alias; -1 if the
// output has its own bytes.
int AliasedInput(const OpDef& def, int output);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_INPUT_GROUPS_H_

// Which outputs of a node may overwrite which of its inputs, as far as the
// graph decides it: the order of the nodes then decides which inputs die there.
#ifndef SPILLWAY_EXECUTOR_PLAN_IN_PLACE_RULE_H_
#define SPILLWAY_EXECUTOR_PLAN_IN_PLACE_RULE_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/op_registry.h"
#include "graph/storage.h"

namespace spillway {

struct InPlaceRule {
  // Legal pairs of a transient device input and an output of new bytes of the
  // same size, in the order of OpDef::in_place. No other input, and no output
  // that is an alias, has the bytes of such an input.
  std::vector<BufferPair> pairs = {};
  std::vector<int64_t> output_bytes = {};  // exact
  bool together = false;                   // OpDef::in_place_together
  // The most aligned bytes of outputs that could overwrite inputs in an edited
  // graph: there, a copy of an input may come back for this node alone.
  int64_t most_bytes = 0;
};

// The pairs whose inputs die at the node may be used together as MatchInPlace
// chooses. Nodes of unknown ops have no pairs.
InPlaceRule FindInPlaceRule(const Graph& graph, const OpRegistry& ops,
                            const StorageMap& storages, const Node& node);

// Whether OpDef::in_place holds for the node's types (OpDef::in_place_legal).
bool IsInPlaceLegal(const Graph& graph, const Node& node, const OpDef& def);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_IN_PLACE_RULE_H_

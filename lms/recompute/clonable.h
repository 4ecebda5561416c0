// Which nodes may be computed a second time within a step, and by which node.
#ifndef SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_
#define SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_

#include <optional>
#include <string>

#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Why no clone with the same op may compute the node again; empty if one may.
// The op must be registered (nothing is known about others), have the rule
// RecomputeRule::kSame, overwrite nothing and run on the device; feeds, swaps
// and residents have no clones.
std::string WhyNotClonable(const Node& node, const OpRegistry& ops);

// The node that computes output `output` of `node` by another op
// (OpDef::derive); nullopt if there is none.
std::optional<DerivedNode> DeriveOutput(const Graph& graph, const Node& node,
                                        int output, const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_

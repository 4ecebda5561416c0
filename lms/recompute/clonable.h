// Which nodes may be computed a second time within a step, and by which node.
#ifndef SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_
#define SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// What that node reads. A tensor that grows (ConcatInto) is read as it is in
// the end if the part that is read stays the same: its earlier states are
// overwritten as soon as nothing reads them any more, but gradients read the
// last one. Such a node can run only when the tensor is complete.
std::vector<ValueId> InputsOfDerived(const Graph& graph, const Node& node,
                                     const DerivedNode& derived,
                                     const OpRegistry& ops);

// Whether `later` is `value` or a later state of it in which channels up to
// `end` are the same.
bool IsSameUpTo(const Graph& graph, ValueId value, ValueId later, int64_t end);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_CLONABLE_H_

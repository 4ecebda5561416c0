// Feeds: tensors that the caller gives each step, the outputs of Placeholders.
// The caller keeps their bytes until the step ends, so a feed that is swapped
// out need not be copied to the host, and it comes back from the caller:
//
//   images -> SwapOut -> SwapIn -> gradient       images   fed
//                                                 SwapOut  nothing to do
//                                                 SwapIn   fed again
#ifndef SPILLWAY_GRAPH_FEEDS_H_
#define SPILLWAY_GRAPH_FEEDS_H_

#include <span>

#include "graph/graph.h"
#include "graph/node.h"

namespace spillway {

// The node is a SwapOut of a Placeholder's output, only SwapIns read its copy,
// and `fetches` does not name it.
bool IsSwapOutOfFeed(const Graph& graph, const Node& node,
                     std::span<const ValueId> fetches);

// The Placeholder's output that the node brings to the device: its own, or that
// of a SwapIn behind such a SwapOut. Invalid: the node is neither.
ValueId FeedOf(const Graph& graph, const Node& node,
               std::span<const ValueId> fetches);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_FEEDS_H_

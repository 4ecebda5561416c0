#include "graph/feeds.h"

#include <algorithm>

#include "graph/well_known_ops.h"

namespace spillway {

bool IsSwapOutOfFeed(const Graph& graph, const Node& node,
                     std::span<const ValueId> fetches) {
  return node.op == kSwapOut &&
         graph.producer(node.inputs[0]).op == kPlaceholder &&
         std::ranges::find(fetches, node.outputs[0]) == fetches.end() &&
         std::ranges::all_of(graph.uses(node.outputs[0]), [&](const Use& use) {
           return graph.node(use.node).op == kSwapIn;
         });
}

ValueId FeedOf(const Graph& graph, const Node& node,
               std::span<const ValueId> fetches) {
  if (node.op == kPlaceholder) return node.outputs[0];
  if (node.op != kSwapIn) return {};
  const Node& swap_out = graph.producer(node.inputs[0]);
  const bool is_fed = IsSwapOutOfFeed(graph, swap_out, fetches);
  return is_fed ? swap_out.inputs[0] : ValueId();
}

}  // namespace spillway

#include "graph/passes/remove_dead_nodes.h"

#include "graph/order/schedule.h"

namespace spillway {

void RemoveDeadNodes(const PassContext& context, GraphRewrite& rewrite) {
  const IdMap<NodeId, bool> is_alive =
      NodesToRun(context.graph, context.registry, context.keep);
  for (const Node& node : context.graph.nodes()) {
    if (!is_alive[node.id]) rewrite.Drop(node.id);
  }
}

}  // namespace spillway

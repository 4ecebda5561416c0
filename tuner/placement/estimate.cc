#include "tuner/placement/estimate.h"

#include <set>

namespace spillway {

int64_t EstimateBytes(const Graph& graph, NodeId id, int64_t workspace_bytes) {
  const Node& node = graph.node(id);
  std::set<ValueId> values(node.inputs.begin(), node.inputs.end());
  values.insert(node.outputs.begin(), node.outputs.end());
  int64_t bytes = workspace_bytes;
  for (const ValueId value : values) bytes += graph.type(value).num_bytes();
  return bytes;
}

}  // namespace spillway

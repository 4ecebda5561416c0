#include "lms/recompute/clone_nodes.h"

#include <algorithm>
#include <iterator>

#include "graph/well_known_ops.h"

namespace spillway {

size_t FirstClone(const Graph& edited) {
  const auto first = std::ranges::find_if(
      edited.nodes(), [](const Node& node) { return IsCloneName(node.name); });
  return static_cast<size_t>(std::distance(edited.nodes().begin(), first));
}

IdMap<ValueId, ValueId> OriginalValues(const RecomputePlan& plan,
                                       const Graph& edited) {
  if (plan.clones.empty()) return {};
  IdMap<ValueId, ValueId> original_of(edited.num_values(), ValueId());
  const size_t first = FirstClone(edited);
  for (size_t i = 0; i < plan.clones.size(); ++i) {
    const Clone& clone = plan.clones[i];
    const std::vector<ValueId>& outputs =
        edited.node(NodeId(first + i)).outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      original_of[outputs[k]] = edited.output(
          clone.original, OriginalOutput(clone, static_cast<int32_t>(k)));
    }
  }
  return original_of;
}

}  // namespace spillway

#include "lms/recompute/clonable.h"

#include <fmt/format.h>

#include <vector>

#include "graph/parts.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {

std::string WhyNotClonable(const Node& node, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr) {
    return fmt::format("op {} is not registered, so it may have side effects",
                       node.op);
  }
  if (node.op == kPlaceholder) return "it is a feed";
  if (node.op == kSwapOut || node.op == kSwapIn) return "it is a swap";
  if (def->resident) return "its output outlives the step";
  if (node.placement != Placement::kDevice) return "it runs on the host";
  if (!def->mutates.empty()) {
    return fmt::format("op {} overwrites an input", node.op);
  }
  if (def->recompute != RecomputeRule::kSame) {
    return fmt::format("op {} must not run twice", node.op);
  }
  return "";
}

std::optional<DerivedNode> DeriveOutput(const Graph& graph, const Node& node,
                                        int output, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr || def->recompute != RecomputeRule::kDerive ||
      node.placement != Placement::kDevice) {
    return std::nullopt;
  }
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  return DeriveWithParts(
      *def,
      {.attributes = node.attributes, .inputs = inputs, .outputs = outputs},
      output);
}

}  // namespace spillway

#include "graph/clone_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

using NodesByName = std::map<std::string, std::vector<NodeId>, std::less<>>;

// "a_b_1" gives "a_b"; a name without a number stays.
std::string_view WithoutSuffix(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool has_suffix =
      digits > 1 && digits < name.size() && name[digits - 1] == '_';
  return has_suffix ? name.substr(0, digits - 1) : name;
}

// Of the nodes with this flat name, the first of the op, or else the first;
// invalid if there is none.
NodeId FindByName(std::string_view flat_name, std::string_view op,
                  const NodesByName& by_name, const Graph& graph) {
  const auto found = by_name.find(flat_name);
  if (found == by_name.end()) return {};
  const std::vector<NodeId>& nodes = found->second;
  const auto same_op = std::ranges::find_if(
      nodes, [&](NodeId id) { return graph.node(id).op == op; });
  return same_op == nodes.end() ? nodes.front() : *same_op;
}

}  // namespace

std::string FlatName(std::string name) {
  std::ranges::replace(name, '/', '_');
  std::ranges::replace(name, ':', '_');
  return name;
}

IdMap<NodeId, NodeId> OriginalsByName(const Graph& graph) {
  std::vector<NodeId> clones;
  for (const Node& node : graph.nodes()) {
    if (IsCloneName(node.name)) clones.push_back(node.id);
  }
  if (clones.empty()) return {};
  NodesByName by_name;
  for (const Node& node : graph.nodes()) {
    if (!IsCloneName(node.name))
      by_name[FlatName(node.name)].push_back(node.id);
  }
  IdMap<NodeId, NodeId> originals(graph.num_nodes(), NodeId());
  for (const NodeId id : clones) {
    const Node& clone = graph.node(id);
    const std::string_view name =
        std::string_view(clone.name).substr(kClonePrefix.size());
    originals[id] = FindByName(name, clone.op, by_name, graph);
    if (originals[id].is_valid()) continue;
    originals[id] = FindByName(WithoutSuffix(name), clone.op, by_name, graph);
  }
  return originals;
}

}  // namespace spillway

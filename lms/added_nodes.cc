#include "lms/added_nodes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "graph/clone_names.h"

namespace spillway {
namespace {

// The slots of `reader` that read `value`.
std::vector<Use> UsesBy(NodeId reader, ValueId value, const Graph& graph) {
  const std::vector<Use>& uses = graph.uses(value);
  // (clang 14 cannot parse std::ranges::equal_range.)
  const auto begin =
      std::ranges::lower_bound(uses, reader, std::less(), &Use::node);
  const auto end =
      std::ranges::upper_bound(uses, reader, std::less(), &Use::node);
  return {begin, end};
}

}  // namespace

std::string AddedName(std::string_view prefix, std::string name,
                      const Graph& graph) {
  return graph.UniqueName(std::string(prefix) + FlatName(std::move(name)));
}

void Reroute(const std::vector<NodeId>& readers, ValueId from, ValueId to,
             Graph& graph) {
  for (const NodeId reader : readers) {
    for (const Use& use : UsesBy(reader, from, graph)) graph.SetInput(use, to);
  }
}

}  // namespace spillway

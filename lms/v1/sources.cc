#include "lms/v1/sources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "lms/scopes.h"

namespace spillway {
namespace {

// Ops whose outputs the original never swaps.
constexpr std::array<std::string_view, 10> kNeverSources = {
    "Add",         "Assign",  "Const", "Identity", "Mul",
    "Placeholder", "Reshape", "Shape", "ShapeN",   "VariableV2"};

template <typename List>
bool Contains(const List& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// The user's scopes and types; a node must match one of them.
struct NodeFilter {
  const std::vector<std::string>& scopes;
  const std::vector<std::string>& types;

  bool empty() const { return scopes.empty() && types.empty(); }
  bool Matches(const Node& node) const {
    return Contains(types, node.op) ||
           std::ranges::any_of(scopes, [&](const std::string& scope) {
             return InScope(node.name, scope);
           });
  }
};

bool NeverMoves(const Node& node, const LmsOptions& options) {
  if (Contains(kNeverSources, node.op)) return true;
  if (options.compat) return false;
  return node.op == kVariable || node.placement == Placement::kHost;
}

}  // namespace

absl::StatusOr<IdMap<NodeId, bool>> FindV1Sources(const LmsOptions& options,
                                                  const Graph& graph,
                                                  const V1Orders& orders) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckScopes("lms_excl_scopes", options.v1.excl_scopes, graph));
  SPILLWAY_RETURN_IF_ERROR(
      CheckScopes("lms_incl_scopes", options.v1.incl_scopes, graph));
  const NodeFilter excluded = {options.v1.excl_scopes, options.v1.excl_types};
  const NodeFilter included = {options.v1.incl_scopes, options.v1.incl_types};
  IdMap<NodeId, bool> sources(graph.num_nodes(), false);
  bool includes_any = false;
  bool leaves_any = false;
  for (const Node& node : graph.nodes()) {
    if (!orders.is_reached[node.id]) continue;
    if (!included.empty() && !included.Matches(node)) continue;
    includes_any = true;
    if (excluded.Matches(node)) continue;
    leaves_any = true;
    sources[node.id] = !NeverMoves(node, options);
  }
  if (included.empty() || orders.seeds.empty()) return sources;
  if (!includes_any) {
    return InvalidArgument(
        "lms_incl_scopes and lms_incl_types select no node that the forward "
        "phase reaches");
  }
  if (!leaves_any && !options.compat) {
    return InvalidArgument(
        "lms_excl_scopes and lms_excl_types leave no node of those that "
        "lms_incl_scopes and lms_incl_types select");
  }
  return sources;
}

std::vector<std::string> AbsentTypes(const LmsOptions& options,
                                     const Graph& graph) {
  std::vector<std::string> types = options.v1.excl_types;
  types.insert(types.end(), options.v1.incl_types.begin(),
               options.v1.incl_types.end());
  for (const Node& node : graph.nodes()) {
    if (types.empty()) break;
    std::erase(types, node.op);
  }
  return types;
}

}  // namespace spillway

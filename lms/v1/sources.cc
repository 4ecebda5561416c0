#include "lms/v1/sources.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "lms/scopes.h"

namespace spillway {
namespace {

// Ops whose outputs the original never swaps.
constexpr std::array<std::string_view, 10> kNeverSources = {
    "Add",         "Assign",  "Const", "Identity", "Mul",
    "Placeholder", "Reshape", "Shape", "ShapeN",   "VariableV2"};

bool NeverMoves(const Node& node, const LmsOptions& options) {
  if (std::ranges::count(kNeverSources, node.op) > 0) return true;
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
        "lms_incl_scopes, lms_incl_types: select no node that the forward "
        "phase reaches");
  }
  if (!leaves_any && !options.compat) {
    return InvalidArgument(
        "lms_excl_scopes, lms_excl_types: leave no node of those that "
        "lms_incl_scopes and lms_incl_types select");
  }
  return sources;
}

std::vector<std::string> AbsentTypes(const LmsOptions& options,
                                     const Graph& graph) {
  std::vector<std::string> types = options.v1.excl_types;
  types.insert(types.end(), options.v1.incl_types.begin(),
               options.v1.incl_types.end());
  return AbsentTypes(std::move(types), graph);
}

}  // namespace spillway

#include "lms/backward_phase.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "graph/well_known_ops.h"
#include "lms/scopes.h"

namespace spillway {

std::vector<std::string> FindOptimizerScopes(const Graph& graph) {
  constexpr std::string_view kGradients = "gradients";
  std::set<std::string, std::less<>> scopes;
  for (const Node& node : graph.nodes()) {
    const std::string_view name = node.name;
    size_t at = 0;
    for (size_t slash = name.find('/'); slash != std::string_view::npos;
         slash = name.find('/', at)) {
      if (name.substr(at, slash - at) == kGradients) {
        const std::string_view scope =
            at == 0 ? kGradients : name.substr(0, at - 1);
        if (!scopes.contains(scope)) scopes.emplace(scope);
        break;
      }
      at = slash + 1;
    }
  }
  return {scopes.begin(), scopes.end()};
}

absl::StatusOr<IdMap<NodeId, bool>> FindBackwardNodes(const LmsOptions& options,
                                                      const Graph& graph) {
  const std::vector<std::string>& given = options.v1.optimizer_scopes;
  const std::vector<std::string> scopes =
      given.empty() ? FindOptimizerScopes(graph) : given;
  IdMap<NodeId, bool> is_backward(graph.num_nodes(), false);
  bool any = false;
  for (const Node& node : graph.nodes()) {
    is_backward[node.id] = std::ranges::any_of(scopes, [&](const auto& scope) {
      return MatchesScope(options.compat, node.name, scope);
    });
    any = any || is_backward[node.id];
    if (IsCloneName(node.name)) is_backward[node.id] = true;
  }
  if (any) return is_backward;
  return InvalidArgument(fmt::format(
      "no node lies in an optimizer scope ({}); name it with "
      "lms_optimizer_scopes; the top-level scopes are: {}",
      given.empty() ? "none contains a scope `gradients`"
                    : fmt::format("given: {}", fmt::join(given, ", ")),
      TopLevelScopes(graph)));
}

}  // namespace spillway

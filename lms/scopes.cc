#include "lms/scopes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace spillway {

bool InScope(std::string_view name, std::string_view scope) {
  if (scope.ends_with('/')) scope.remove_suffix(1);
  return name.starts_with(scope) &&
         (name.size() == scope.size() || name[scope.size()] == '/');
}

bool MatchesScope(bool compat, std::string_view name, std::string_view scope) {
  return compat ? name.starts_with(scope) : InScope(name, scope);
}

bool NodeFilter::Matches(const Node& node) const {
  return std::ranges::find(types, node.op) != types.end() ||
         std::ranges::any_of(scopes, [&](const std::string& scope) {
           return InScope(node.name, scope);
         });
}

std::vector<std::string> AbsentTypes(std::vector<std::string> types,
                                     const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (types.empty()) break;
    std::erase(types, node.op);
  }
  return types;
}

std::string TopLevelScopes(const Graph& graph) {
  std::set<std::string_view> scopes;
  for (const Node& node : graph.nodes()) {
    scopes.insert(std::string_view(node.name).substr(0, node.name.find('/')));
  }
  constexpr size_t kListed = 20;
  std::vector<std::string_view> listed(scopes.begin(), scopes.end());
  if (listed.size() > kListed) {
    listed.resize(kListed);
    listed.emplace_back("...");
  }
  return fmt::format("{}", fmt::join(listed, ", "));
}

absl::Status EmptyScopeError(std::string_view option, std::string_view scope,
                             const Graph& graph) {
  return InvalidArgument(fmt::format(
      "{}: no node is in the scope {}; the top-level scopes are: {}", option,
      scope, TopLevelScopes(graph)));
}

absl::Status CheckScopes(std::string_view option,
                         const std::vector<std::string>& scopes,
                         const Graph& graph) {
  for (const std::string& scope : scopes) {
    const bool holds_any = std::ranges::any_of(
        graph.nodes(),
        [&](const Node& node) { return InScope(node.name, scope); });
    if (!holds_any) return EmptyScopeError(option, scope, graph);
  }
  return absl::OkStatus();
}

}  // namespace spillway

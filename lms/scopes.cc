#include "lms/scopes.h"

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace spillway {

bool InScope(std::string_view name, std::string_view scope) {
  if (scope.ends_with('/')) scope.remove_suffix(1);
  return name.starts_with(scope) &&
         (name.size() == scope.size() || name[scope.size()] == '/');
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
      "{} is {}, but no node is in it; the top-level scopes are: {}", option,
      scope, TopLevelScopes(graph)));
}

}  // namespace spillway

// Nodes that options name by scope or op. The scope "a/b" holds the nodes
// "a/b", "a/b/c", ...
#ifndef SPILLWAY_LMS_SCOPES_H_
#define SPILLWAY_LMS_SCOPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace spillway {

// Compares whole path components; a slash at the end of `scope` is ignored.
bool InScope(std::string_view name, std::string_view scope);

// InScope; with `compat`, whether `scope` is any prefix of the name, as in the
// original TFLMS.
bool MatchesScope(bool compat, std::string_view name, std::string_view scope);

// The nodes in one of the scopes, and those of one of the ops. Borrows both.
struct NodeFilter {
  const std::vector<std::string>& scopes;
  const std::vector<std::string>& types;

  bool empty() const { return scopes.empty() && types.empty(); }
  bool Matches(const Node& node) const;
};

// Those of `types` that no node of the graph has.
std::vector<std::string> AbsentTypes(std::vector<std::string> types,
                                     const Graph& graph);

// "conv1, conv2, loss": the top-level scopes of a graph, at most 20 of them.
std::string TopLevelScopes(const Graph& graph);

// INVALID_ARGUMENT: `option` (a flag without its dashes) names a scope that
// holds no node; lists the top-level scopes.
absl::Status EmptyScopeError(std::string_view option, std::string_view scope,
                             const Graph& graph);

// EmptyScopeError for the first of `scopes` that holds no node.
absl::Status CheckScopes(std::string_view option,
                         const std::vector<std::string>& scopes,
                         const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_SCOPES_H_

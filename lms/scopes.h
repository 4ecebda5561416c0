// Name scopes: the scope "a/b" holds the nodes "a/b", "a/b/c", ...
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

// Graph files: {"format": "spillway.graph", "version": 1, ...}; the format is
// described in docs/graph_file.md.
#ifndef SPILLWAY_GRAPH_FORMAT_JSON_FORMAT_H_
#define SPILLWAY_GRAPH_FORMAT_JSON_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Parses and verifies. `source` names the text in errors. Nodes may refer to
// later nodes. Outputs of registered ops may be left out (they are inferred);
// stated outputs are checked. Errors: INVALID_ARGUMENT naming node and field,
// for any malformed input; no input crashes or hangs the parser.
absl::StatusOr<Graph> ParseGraph(std::string_view text, std::string_view source,
                                 const OpRegistry& registry);
absl::StatusOr<Graph> ReadGraphFile(const std::string& path,
                                    const OpRegistry& registry);

// One node per line, in order of creation; parses back to an equal graph.
std::string FormatGraph(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_FORMAT_JSON_FORMAT_H_

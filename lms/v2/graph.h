// A graph as version 2 sees it: serialized if the options say so, with the
// levels and roles of its nodes. Planning and simulation start from it.
#ifndef SPILLWAY_LMS_V2_GRAPH_H_
#define SPILLWAY_LMS_V2_GRAPH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v2/levels.h"
#include "lms/v2/roles.h"

namespace spillway {

struct V2Graph {
  const Graph* original = nullptr;          // borrowed
  std::optional<Graph> serialized = {};     // `original` with `orders`
  std::vector<AddedOrder> orders = {};      // added by serialization
  V2Levels levels = {};                     // after serialization
  IdMap<NodeId, int32_t> true_levels = {};  // the same, but for every node
  V2Roles roles = {};
  std::vector<LogLine> log = {};  // describes the graph

  const Graph& graph() const { return serialized ? *serialized : *original; }
};

// `graph` is borrowed by the result. Errors: INVALID_ARGUMENT for filters
// (FindV2Roles), for a cycle and for slices of levels.
absl::StatusOr<V2Graph> MakeV2Graph(const LmsOptions& options,
                                    const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_GRAPH_H_

#include "lms/v2/graph.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "graph/order/schedule.h"
#include "lms/edit_view.h"
#include "lms/incremental_order.h"
#include "lms/v2/report.h"
#include "lms/v2/serialize_levels.h"

namespace spillway {
namespace {

// Recounts the levels afterwards.
absl::Status Serialize(const LmsOptions& options, V2Graph& v2) {
  if (options.v2.serialization.empty() &&
      options.v2.serialization_by_size_gib == 0) {
    return absl::OkStatus();
  }
  const Graph& graph = *v2.original;
  SPILLWAY_ASSIGN_OR_RETURN(
      const LevelChains chains,
      SerializeLevels(options, graph, v2.levels, v2.roles));
  EditView view(graph);
  IncrementalOrder order(view, v2.true_levels);
  v2.serialized = graph;
  for (const AddedOrder& edge : chains.orders) {
    // A cycle can arise only through the body of a loop, which has no levels.
    if (order.ClosesCycle(edge.before, edge.after)) continue;
    view.AddControlEdge(edge.before, edge.after);
    v2.serialized->AddControlEdge(edge.before, edge.after);
    v2.orders.push_back(edge);
  }
  v2.levels = FindV2Levels(*v2.serialized);
  SPILLWAY_ASSIGN_OR_RETURN(v2.true_levels, Levels(*v2.serialized));
  std::ranges::move(DescribeSerialization(options, chains, v2.levels),
                    std::back_inserter(v2.log));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<V2Graph> MakeV2Graph(const LmsOptions& options,
                                    const Graph& graph) {
  V2Graph v2{.original = &graph};
  SPILLWAY_ASSIGN_OR_RETURN(v2.true_levels, Levels(graph));
  SPILLWAY_ASSIGN_OR_RETURN(v2.roles, FindV2Roles(options, graph));
  v2.levels = FindV2Levels(graph);
  v2.log = DescribeGraph(graph, v2.roles, v2.levels);
  SPILLWAY_RETURN_IF_ERROR(Serialize(options, v2));
  return v2;
}

}  // namespace spillway

// The clones of a saved plan (saved_plan.h) as JSON.
//
//     {"node": "conv1/FusedBatchNorm", "output": 0,
//      "inputs": [{"value": "conv1/Conv2D:0"}, {"clone": 3, "output": 0}],
//      "triggers": ["..."],
//      "readers": [{"output": 0, "nodes": ["..."]}]}
//
// "output" is there for a clone by another op (OpDef::derive).
#ifndef SPILLWAY_TUNER_SAVED_CLONES_H_
#define SPILLWAY_TUNER_SAVED_CLONES_H_

#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "graph/graph.h"
#include "lms/recompute/recompute_plan.h"
#include "nlohmann/json_fwd.hpp"

namespace spillway {

// Names of nodes, as a list.
nlohmann::ordered_json NamesToJson(const std::vector<NodeId>& nodes,
                                   const Graph& graph);
// Nodes of the graph by name. Reports a name that it does not have.
std::vector<NodeId> ReadNodes(JsonObject& object, std::string_view field,
                              const Graph& graph);

// The fields "recomputes" and "recompute_orders" of the plan. `graph`: without
// clones. Requires CheckIds.
nlohmann::ordered_json ClonesToJson(const RecomputePlan& plan,
                                    const Graph& graph);
nlohmann::ordered_json CloneOrdersToJson(const RecomputePlan& plan,
                                         const Graph& graph);

// Reads both fields. The caller checks the plan (WithClones).
RecomputePlan ReadClones(JsonObject& file, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SAVED_CLONES_H_

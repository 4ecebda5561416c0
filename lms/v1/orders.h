// The two phases of a training graph as TFLMS version 1 sees them: gradient
// nodes by scope, seeds, and topological orders.
#ifndef SPILLWAY_LMS_V1_ORDERS_H_
#define SPILLWAY_LMS_V1_ORDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/options.h"

namespace spillway {

struct V1Orders {
  IdMap<NodeId, bool> is_gradient;
  std::vector<NodeId> seeds;           // where the forward phase begins, by id
  IdMap<NodeId, bool> is_reached;      // by a seed, along data edges
  IdMap<NodeId, bool> above_gradient;  // data flows from it to a gradient node
  // Place in the layered topological order; -1: unknown (a gradient node that
  // could run during the forward phase, the update phase, other nodes).
  IdMap<NodeId, int32_t> order;
  std::vector<std::vector<NodeId>> nodes_of_order;
  int32_t backward_start = -1;  // first order that holds a gradient node
  // The layers before nodes of unknown order were removed; -1: in no layer.
  // Layers rise along data edges between nodes that are reached and above
  // gradients.
  IdMap<NodeId, int32_t> layer;
  // Some nodes have a layer although no seed reaches them: control inputs of
  // seeds.
  bool has_unreached = false;
};

// Optimizer scopes and the starting scope match whole path components; with
// options.compat they match any prefix of a name, as in the original.
// Dependencies are counted between nodes on a path from a seed to a gradient
// node; but a node without data inputs waits for all its control inputs, as in
// the original.
// Cost: linear, plus FindSeeds. Errors: INVALID_ARGUMENT if no node lies in an
// optimizer scope or in the starting scope (listing the top-level scopes), if a
// starting node does not exist, or if the graph has a cycle.
absl::StatusOr<V1Orders> FindV1Orders(const LmsOptions& options,
                                      const StorageMap& storages,
                                      const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_ORDERS_H_

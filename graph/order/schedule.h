// Levels and total orders of a graph's nodes.
#ifndef SPILLWAY_GRAPH_ORDER_SCHEDULE_H_
#define SPILLWAY_GRAPH_ORDER_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// One total order of (some of) the nodes; a place in it is a step. Data and
// control edges go forward.
struct Schedule {
  std::vector<NodeId> order = {};
  // Place of a node in `order`; -1 for a node that is left out.
  IdMap<NodeId, int32_t> step_of = {};

  bool contains(NodeId id) const { return step_of[id] >= 0; }
};

// Fills step_of from the order, for a graph of `num_nodes` nodes.
void SetSteps(size_t num_nodes, Schedule& schedule);

// Nodes that `fetches` need over data and control edges, plus all nodes that
// overwrite variables and the nodes that these need. Without fetches and such
// nodes: every node.
IdMap<NodeId, bool> NodesToRun(const Graph& graph, const OpRegistry& registry,
                               std::span<const ValueId> fetches);

// The order in which nodes run: ready nodes first by kind (ReadyRank), then by
// lowest `preference` (empty: all equal), then by lowest id. So copies and
// collectives start as soon as their edges allow, and gradients are freed
// early. A clone (well_known_ops.h) has the preference of its first reader
// instead of its own: by its id it would run behind the whole backward phase,
// which would wait for it with all its gradients. `keep` selects nodes (empty:
// all). Errors: INVALID_ARGUMENT for a cycle, listing its nodes, and for a kept
// node with a predecessor that is not kept. Cost: O(edges + nodes log nodes).
absl::StatusOr<Schedule> MakeSchedule(
    const Graph& graph, const OpRegistry& registry,
    const IdMap<NodeId, bool>& keep,
    const IdMap<NodeId, int32_t>& preference = {});

// Checks that `schedule` has each node in `keep` (empty: all) once, after all
// its predecessors, and no other node. Errors: INVALID_ARGUMENT naming the
// first wrong node.
absl::Status CheckSchedule(const Graph& graph, const IdMap<NodeId, bool>& keep,
                           const Schedule& schedule);

// Among the ready nodes the one with the lowest rank runs first: 0 for resident
// nodes, which run no kernel, then SwapOut, SwapIn, collectives, nodes that
// overwrite variables, and last all others (kComputeRank).
int ReadyRank(const Node& node, const OpRegistry& registry);
inline constexpr int kComputeRank = 5;

// Longest distance from the nodes without inputs, over data and control edges.
// Errors: INVALID_ARGUMENT for a cycle, listing its nodes. Cost: linear.
absl::StatusOr<IdMap<NodeId, int32_t>> Levels(const Graph& graph);

// All nodes, by level and then by id: a topological order. Cost: linear.
std::vector<NodeId> OrderByLevel(const IdMap<NodeId, int32_t>& levels);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_SCHEDULE_H_

#include "lms/v2/levels.h"

#include <algorithm>

#include "base/topological_order.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

bool HasWhile(const Node& node) {
  return node.name.find("while/") != std::string::npos;
}

bool HasLevel(const Node& node) {
  if (!HasWhile(node)) return true;
  return node.op == "Enter" || node.op == "Exit" || node.op == "Merge" ||
         node.op == "Switch";
}

// Ignores the edges that close a loop.
bool WaitsFor(const Node& node, const Node& before) {
  if (node.op == "Merge" && before.op == "NextIteration") {
    return !HasWhile(node);
  }
  if (node.op == "Switch" && before.op == "LoopCond") return !HasWhile(node);
  return true;
}

// Number of counted edges into each node; one more for a node that never gets a
// level.
IdMap<NodeId, int32_t> EdgesInto(const Graph& graph) {
  IdMap<NodeId, int32_t> edges(graph.num_nodes(), 0);
  for (const Node& node : graph.nodes()) {
    if (!HasLevel(node)) ++edges[node.id];
    ForEachPredecessor(graph, node.id, [&](NodeId before) {
      if (WaitsFor(node, graph.node(before))) ++edges[node.id];
    });
  }
  return edges;
}

}  // namespace

V2Levels FindV2Levels(const Graph& graph) {
  V2Levels levels{.level_of = IdMap<NodeId, int32_t>(graph.num_nodes(), -1)};
  IdMap<NodeId, int32_t> first_level(graph.num_nodes(), 0);  // so far
  TopologicalOrder<NodeId> order(EdgesInto(graph));
  for (NodeId id = order.Next(); id.is_valid(); id = order.Next()) {
    const int32_t level = first_level[id];
    if (level == levels.num_levels()) levels.nodes.emplace_back();
    levels.level_of[id] = level;
    levels.nodes.back().push_back(id);  // nodes come by level
    ForEachSuccessor(graph, id, [&](NodeId after) {
      if (!WaitsFor(graph.node(after), graph.node(id))) return;
      first_level[after] = level + 1;
      order.Arrive(after);
    });
  }
  for (std::vector<NodeId>& nodes : levels.nodes) std::ranges::sort(nodes);
  return levels;
}

bool IsInsideLoop(const Node& node) {
  return HasWhile(node) && node.op != "Enter" && node.op != "Exit";
}

bool IsInsideBranch(const Node& node) {
  return node.name.find("/cond/") != std::string::npos && node.op != "Merge" &&
         node.op != "Switch";
}

bool IsVariable(const Node& node) {
  return node.op == kVariable || node.op == "VariableV2" ||
         node.op == "VarHandleOp";
}

}  // namespace spillway

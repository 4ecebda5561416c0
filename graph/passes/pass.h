// Passes: rewrites that a training engine owes its users before any swapping.
// Each leaves a graph that computes the same results.
#ifndef SPILLWAY_GRAPH_PASSES_PASS_H_
#define SPILLWAY_GRAPH_PASSES_PASS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/passes/rewrite.h"

namespace spillway {

// What a pass sees. Borrowed for the call.
struct PassContext {
  const Graph& graph;
  const OpRegistry& registry;
  std::span<const ValueId> keep;  // values that are fetched or looked up later
  IdMap<NodeId, int32_t> levels;  // see graph/order/schedule.h

  bool is_kept(ValueId id) const;
  // The node that alone reads `id`, which is not kept; else null.
  const Node* OnlyReader(ValueId id) const;
  // Whether two nodes of a path first -> ... -> last can become one: they run
  // on the same side, and no cycle comes of the control edges between them.
  bool CanMerge(const Node& first, const Node& last) const;
};

struct Pass {
  std::string_view name;
  std::string_view summary;
  void (*run)(const PassContext& context, GraphRewrite& rewrite) = nullptr;
  // It saves launches of kernels, which cost nothing worth saving on a CPU:
  // "auto" takes it on a GPU only.
  bool pays_on_gpu_only = false;
};

struct PassReport {
  std::string name = {};
  int64_t changed_nodes = 0;
};

struct OptimizedGraph {
  Graph graph = {};
  IdMap<ValueId, ValueId> values = {};  // as RewrittenGraph
  std::vector<PassReport> reports = {};

  // Where an old value is now; CHECKs that it was kept.
  ValueId at(ValueId old) const;
};

// Runs `passes` in order; values of `keep` survive. The graph is verified after
// each pass. Errors: INVALID_ARGUMENT for a graph that does not verify to begin
// with; INTERNAL naming the pass that broke it.
absl::StatusOr<OptimizedGraph> RunPasses(const Graph& graph,
                                         const OpRegistry& registry,
                                         std::span<const Pass> passes,
                                         std::span<const ValueId> keep);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_PASS_H_

// Passes: graph rewrites before any swapping. Each leaves a graph that computes
// the same results.
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
  // The only reader of `id`; null if `id` is kept or has no or several uses.
  const Node* OnlyReader(ValueId id) const;
  // Whether two nodes of a path first -> ... -> last can become one: they run
  // on the same side, and merging them closes no cycle over control edges.
  bool CanMerge(const Node& first, const Node& last) const;
};

// Where "auto" runs a pass: some save kernel launches or memory traffic, which
// do not matter on a CPU; some make nodes that only kernels for a CPU compute
// without a copy.
enum class PassPays : uint8_t { kEverywhere, kOnCpu, kOnGpu };

struct Pass {
  std::string_view name;
  std::string_view summary;
  void (*run)(const PassContext& context, GraphRewrite& rewrite) = nullptr;
  PassPays pays = PassPays::kEverywhere;
};

struct PassReport {
  std::string name = {};
  int64_t changed_nodes = 0;
};

struct OptimizedGraph {
  Graph graph = {};
  IdMap<ValueId, ValueId> values = {};  // as RewrittenGraph
  std::vector<PassReport> reports = {};

  // The new id of an old value; CHECKs that it still exists.
  ValueId at(ValueId old) const;
};

// Runs `passes` in order; values of `keep` survive. The graph is verified after
// each pass. Errors: INVALID_ARGUMENT for a graph that is invalid before the
// first pass; INTERNAL naming the pass that broke the graph.
absl::StatusOr<OptimizedGraph> RunPasses(const Graph& graph,
                                         const OpRegistry& registry,
                                         std::span<const Pass> passes,
                                         std::span<const ValueId> keep);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_PASS_H_

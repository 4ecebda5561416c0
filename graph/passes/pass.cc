#include "graph/passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "graph/order/schedule.h"
#include "graph/verify.h"

namespace spillway {
namespace {

OptimizedGraph Unchanged(const Graph& graph) {
  OptimizedGraph result = {.graph = graph, .values = IdMap<ValueId, ValueId>()};
  for (const ValueId value : graph.values().ids()) {
    result.values.push_back(value);
  }
  return result;
}

std::vector<ValueId> Now(std::span<const ValueId> keep,
                         const OptimizedGraph& result) {
  std::vector<ValueId> now;
  for (const ValueId id : keep) now.push_back(result.at(id));
  return now;
}

absl::Status RunPass(const Pass& pass, const OpRegistry& registry,
                     std::span<const ValueId> keep, OptimizedGraph& result) {
  const std::vector<ValueId> now = Now(keep, result);
  PassContext context = {
      .graph = result.graph, .registry = registry, .keep = now, .levels = {}};
  SPILLWAY_ASSIGN_OR_RETURN(context.levels, Levels(result.graph));
  GraphRewrite rewrite(result.graph);
  pass.run(context, rewrite);
  result.reports.push_back(
      {.name = std::string(pass.name), .changed_nodes = rewrite.num_changes()});
  if (rewrite.num_changes() == 0) return absl::OkStatus();
  RewrittenGraph rewritten = rewrite.Apply();
  const absl::Status valid = VerifyGraph(rewritten.graph, registry);
  if (!valid.ok()) {
    return Internal(fmt::format("pass {} broke the graph: {}", pass.name,
                                std::string(valid.message())));
  }
  for (ValueId& id : result.values) {
    if (id.is_valid()) id = rewritten.values[id];
  }
  result.graph = std::move(rewritten.graph);
  return absl::OkStatus();
}

}  // namespace

bool PassContext::is_kept(ValueId id) const {
  return std::ranges::find(keep, id) != keep.end();
}

const Node* PassContext::OnlyReader(ValueId id) const {
  const std::vector<Use>& uses = graph.uses(id);
  if (uses.size() != 1 || is_kept(id)) return nullptr;
  return &graph.node(uses.front().node);
}

// A path that leaves `first` by a control edge and reaches `last` starts at a
// node whose level is between theirs.
bool PassContext::CanMerge(const Node& first, const Node& last) const {
  const auto is_beyond = [&](NodeId id) {
    return id == last.id || levels[id] >= levels[last.id];
  };
  const auto is_before = [&](NodeId id) {
    return id == first.id || levels[id] <= levels[first.id];
  };
  return first.placement == last.placement &&
         std::ranges::all_of(graph.control_outputs(first.id), is_beyond) &&
         std::ranges::all_of(last.control_inputs, is_before);
}

ValueId OptimizedGraph::at(ValueId old) const {
  SPILLWAY_CHECK(values[old].is_valid());
  return values[old];
}

absl::StatusOr<OptimizedGraph> RunPasses(const Graph& graph,
                                         const OpRegistry& registry,
                                         std::span<const Pass> passes,
                                         std::span<const ValueId> keep) {
  SPILLWAY_RETURN_IF_ERROR(VerifyGraph(graph, registry));
  OptimizedGraph result = Unchanged(graph);
  for (const Pass& pass : passes) {
    SPILLWAY_RETURN_IF_ERROR(RunPass(pass, registry, keep, result));
  }
  return result;
}

}  // namespace spillway

#include "graph/passes/fuse_updates.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/traverse.h"

namespace spillway {
namespace {

// The definition of an update that may be merged, or null.
const OpDef* MergeableDef(const PassContext& context, const Node& node) {
  const OpDef* def = context.registry.Find(node.op);
  const bool is_mergeable =
      def != nullptr && def->group_inputs > 0 && !def->mutates.empty() &&
      node.inputs.size() == def->inputs.size() && !node.cost &&
      context.graph.type(node.inputs[0]).num_bytes() <= kMostFusedVariableBytes;
  return is_mergeable ? def : nullptr;
}

// Updates that may be merged, without those that another of them leads to. So
// no path leads from one to another, however they are merged. In order of
// creation.
std::vector<NodeId> IndependentUpdates(const PassContext& context) {
  const Graph& graph = context.graph;
  std::vector<NodeId> order;  // by level, so predecessors come first
  for (const Node& node : graph.nodes()) order.push_back(node.id);
  std::ranges::stable_sort(order, {},
                           [&](NodeId id) { return context.levels[id]; });
  IdMap<NodeId, bool> is_after(graph.num_nodes(), false);  // an update
  IdMap<NodeId, bool> is_update(graph.num_nodes(), false);
  std::vector<NodeId> updates;
  for (const NodeId id : order) {
    ForEachPredecessor(graph, id, [&](NodeId before) {
      is_after[id] = is_after[id] || is_after[before] || is_update[before];
    });
    if (is_after[id] || MergeableDef(context, graph.node(id)) == nullptr) {
      continue;
    }
    is_update[id] = true;
    updates.push_back(id);
  }
  std::ranges::sort(updates);
  return updates;
}

// Nodes to be merged into one.
struct Batch {
  std::vector<NodeId> nodes = {};
  int64_t gradient_bytes = 0;
};

class UpdateMerger {
 public:
  UpdateMerger(const PassContext& context, GraphRewrite& rewrite)
      : graph_(context.graph), registry_(context.registry), rewrite_(rewrite) {}

  void Add(NodeId id) {
    const Node& node = graph_.node(id);
    const int64_t bytes = GradientBytes(node);
    const auto same_rule = std::ranges::find_if(open_, [&](const Batch& batch) {
      return HaveSameRule(graph_.node(batch.nodes.front()), node);
    });
    Batch& batch = same_rule != open_.end() ? *same_rule : open_.emplace_back();
    if (batch.gradient_bytes + bytes > kMostFusedGradientBytes) Close(batch);
    batch.nodes.push_back(id);
    batch.gradient_bytes += bytes;
  }

  void Finish() {
    for (Batch& batch : open_) Close(batch);
  }

 private:
  size_t GroupInputs(const Node& node) const {
    return static_cast<size_t>(registry_.Find(node.op)->group_inputs);
  }

  std::span<const ValueId> Group(const Node& node) const {
    return std::span(node.inputs).first(GroupInputs(node));
  }

  // Bytes of the group's last input, whose producer the merged node waits for.
  int64_t GradientBytes(const Node& node) const {
    return graph_.type(Group(node).back()).num_bytes();
  }

  bool HaveSameRule(const Node& a, const Node& b) const {
    const auto same_dtype = [this](ValueId x, ValueId y) {
      return graph_.type(x).dtype == graph_.type(y).dtype;
    };
    return a.op == b.op && a.placement == b.placement &&
           a.attributes == b.attributes &&
           std::ranges::equal(std::span(a.inputs).subspan(GroupInputs(a)),
                              std::span(b.inputs).subspan(GroupInputs(b))) &&
           std::ranges::equal(Group(a), Group(b), same_dtype);
  }

  // Merges the nodes of `batch` and empties it.
  void Close(Batch& batch) {
    const std::vector<NodeId> nodes = std::exchange(batch, {}).nodes;
    if (nodes.size() < 2) return;
    const NodeId place = nodes.back();
    for (size_t i = 0; i < nodes.size(); ++i) {
      rewrite_.Redirect(graph_.output(nodes[i]),
                        {.node = place, .index = static_cast<int>(i)});
      if (nodes[i] != place) rewrite_.Drop(nodes[i], place);
    }
    rewrite_.Replace(place, Merged(nodes));
  }

  NodeSpec Merged(const std::vector<NodeId>& nodes) const {
    const Node& first = graph_.node(nodes.front());
    NodeSpec merged = SpecOf(graph_, first);
    const std::vector<ValueId> shared(
        first.inputs.begin() + static_cast<ptrdiff_t>(GroupInputs(first)),
        first.inputs.end());
    merged.inputs.clear();
    merged.control_inputs.clear();  // the rewrite adds those of all nodes
    merged.outputs.clear();
    for (const NodeId id : nodes) {
      const Node& node = graph_.node(id);
      const std::span<const ValueId> group = Group(node);
      merged.inputs.insert(merged.inputs.end(), group.begin(), group.end());
      merged.outputs.push_back(graph_.type(node.outputs[0]));
    }
    merged.inputs.insert(merged.inputs.end(), shared.begin(), shared.end());
    return merged;
  }

  const Graph& graph_;
  const OpRegistry& registry_;
  GraphRewrite& rewrite_;
  std::vector<Batch> open_;  // one of each rule, in order of its first node
};

}  // namespace

void FuseUpdates(const PassContext& context, GraphRewrite& rewrite) {
  UpdateMerger merger(context, rewrite);
  for (const NodeId id : IndependentUpdates(context)) merger.Add(id);
  merger.Finish();
}

}  // namespace spillway

#include "graph/passes/rewrite.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "graph/types_of.h"

namespace spillway {

NodeSpec SpecOf(const Graph& graph, const Node& node) {
  return {.name = node.name,
          .op = node.op,
          .inputs = node.inputs,
          .control_inputs = node.control_inputs,
          .outputs = TypesOf(graph, node.outputs),
          .attributes = node.attributes,
          .placement = node.placement,
          .cost = node.cost};
}

GraphRewrite::GraphRewrite(const Graph& graph)
    : graph_(graph), touched_(graph.num_nodes(), false) {}

void GraphRewrite::Replace(NodeId id, NodeSpec spec) {
  SPILLWAY_CHECK(!touched_[id]);
  touched_[id] = true;
  ++num_changes_;
  replaced_.emplace(id, std::move(spec));
}

void GraphRewrite::Drop(NodeId id, NodeId stands_for_it) {
  SPILLWAY_CHECK(!touched_[id]);
  touched_[id] = true;
  ++num_changes_;
  dropped_.emplace(id, stands_for_it);
}

void GraphRewrite::Redirect(ValueId from, Output to) { redirected_[from] = to; }

void GraphRewrite::Connect(NodeId reader, int slot, Output from) {
  connected_[{reader, slot}] = from;
}

// Adds all nodes before any edge, since nodes may read later ones.
class GraphRewrite::Copier {
 public:
  explicit Copier(const GraphRewrite& rewrite)
      : rewrite_(rewrite),
        old_(rewrite.graph_),
        copy_of_(old_.num_nodes()),
        result_{.graph = Graph(old_.name()),
                .values = IdMap<ValueId, ValueId>(old_.num_values())} {}

  RewrittenGraph Run() && {
    for (const Node& node : old_.nodes()) AddNode(node);
    for (const Node& node : old_.nodes()) ConnectInputs(node);
    for (const Node& node : old_.nodes()) ConnectControl(node);
    for (const ValueId value : old_.values().ids()) {
      result_.values[value] = NewValue(value);
    }
    return std::move(result_);
  }

 private:
  const NodeSpec* Replacement(NodeId id) const {
    const auto found = rewrite_.replaced_.find(id);
    return found == rewrite_.replaced_.end() ? nullptr : &found->second;
  }

  // `id` itself or the node that stands for it (which may have been dropped in
  // turn); invalid if no node does.
  NodeId Surviving(NodeId id) const {
    for (auto next = rewrite_.dropped_.find(id);
         next != rewrite_.dropped_.end(); next = rewrite_.dropped_.find(id)) {
      id = next->second;
    }
    return id;
  }

  void AddNode(const Node& node) {
    if (rewrite_.dropped_.contains(node.id)) return;
    const NodeSpec* replacement = Replacement(node.id);
    NodeSpec spec = replacement ? *replacement : SpecOf(old_, node);
    spec.inputs.clear();
    spec.control_inputs.clear();
    copy_of_[node.id] = result_.graph.AddNode(std::move(spec));
  }

  // Invalid if the value no longer exists.
  ValueId NewValue(ValueId id) const {
    const Value& value = old_.value(id);
    const auto redirected = rewrite_.redirected_.find(id);
    return redirected != rewrite_.redirected_.end()
               ? ValueAt(redirected->second)
               : ValueAt({.node = value.producer, .index = value.index});
  }

  // Invalid if there is no such node.
  ValueId ValueAt(const Output& at) const {
    if (!at.node.is_valid() || !copy_of_[at.node].is_valid()) return ValueId();
    return result_.graph.output(copy_of_[at.node], at.index);
  }

  void ConnectInputs(const Node& node) {
    if (!copy_of_[node.id].is_valid()) return;
    const NodeSpec* replacement = Replacement(node.id);
    const auto& old_inputs = replacement ? replacement->inputs : node.inputs;
    std::vector<ValueId> inputs;
    for (const ValueId input : old_inputs) {
      const auto connected =
          rewrite_.connected_.find({node.id, static_cast<int>(inputs.size())});
      inputs.push_back(connected != rewrite_.connected_.end()
                           ? ValueAt(connected->second)
                           : NewValue(input));
      SPILLWAY_CHECK(inputs.back().is_valid());
    }
    result_.graph.SetInputs(copy_of_[node.id], inputs);
  }

  void AddControlEdge(NodeId from, NodeId to) {
    from = Surviving(from);
    to = Surviving(to);
    if (!from.is_valid() || !to.is_valid() || from == to) return;
    result_.graph.AddControlEdge(copy_of_[from], copy_of_[to]);
  }

  void ConnectControl(const Node& node) {
    for (const NodeId before : node.control_inputs) {
      AddControlEdge(before, node.id);
    }
    if (const NodeSpec* replacement = Replacement(node.id)) {
      for (const NodeId before : replacement->control_inputs) {
        AddControlEdge(before, node.id);
      }
    }
  }

  const GraphRewrite& rewrite_;
  const Graph& old_;
  IdMap<NodeId, NodeId> copy_of_;
  RewrittenGraph result_;
};

RewrittenGraph GraphRewrite::Apply() const { return Copier(*this).Run(); }

}  // namespace spillway

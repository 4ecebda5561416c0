#include "graph/passes/merge_common_nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "graph/input_groups.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Of the bytes of a value: the level of the first node that overwrites them.
class Overwrites {
 public:
  explicit Overwrites(const PassContext& context)
      : context_(context), first_(context.graph.num_values(), kNever) {
    for (const Node& node : context.graph.nodes()) {
      const OpDef* def = context.registry.Find(node.op);
      if (def == nullptr) continue;
      for (const int slot : MutatedInputs(*def, node.inputs.size())) {
        int32_t& first = first_[Owner(node.inputs[static_cast<size_t>(slot)])];
        first = std::min(first, context.levels[node.id]);
      }
    }
  }

  // Whether `node` surely reads every input before it is overwritten.
  bool ReadsBefore(const Node& node) const {
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      const int32_t first = first_[Owner(input)];
      return first == kNever || context_.levels[node.id] < first;
    });
  }

 private:
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

  // The value whose bytes `id` is another name for.
  ValueId Owner(ValueId id) const {
    while (true) {
      const Node& node = context_.graph.producer(id);
      const OpDef* def = context_.registry.Find(node.op);
      if (def == nullptr) return id;
      const int input = AliasedInput(*def, context_.graph.value(id).index);
      if (input < 0) return id;
      id = node.inputs[static_cast<size_t>(input)];
    }
  }

  const PassContext& context_;
  IdMap<ValueId, int32_t> first_;
};

bool IsMergeable(const PassContext& context, const Node& node) {
  const OpDef* def = context.registry.Find(node.op);
  return def != nullptr && def->mutates.empty() && !node.outputs.empty() &&
         node.op != kVariable && node.op != kPlaceholder &&
         node.placement == Placement::kDevice;
}

// Nodes with equal keys and equal attributes compute the same.
using Key = std::tuple<std::string, std::vector<ValueId>, std::vector<NodeId>>;

class Merger {
 public:
  Merger(const PassContext& context, GraphRewrite& rewrite)
      : context_(context),
        rewrite_(rewrite),
        overwrites_(context),
        first_of_(context.graph.num_nodes()) {}

  void Visit(const Node& node) {
    first_of_[node.id] = node.id;
    if (!IsMergeable(context_, node) || !overwrites_.ReadsBefore(node)) return;
    std::vector<NodeId>& known = known_[KeyOf(node)];
    for (const NodeId first : known) {
      if (context_.graph.node(first).attributes != node.attributes) continue;
      Merge(node, first);
      return;
    }
    known.push_back(node.id);
  }

 private:
  // In terms of the nodes that stay.
  Key KeyOf(const Node& node) const {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const Value& value = context_.graph.value(input);
      const NodeId first = first_of_[value.producer];
      inputs.push_back(
          first.is_valid() ? context_.graph.output(first, value.index) : input);
    }
    std::vector<NodeId> before = node.control_inputs;
    std::ranges::sort(before);
    return {node.op, std::move(inputs), std::move(before)};
  }

  void Merge(const Node& node, NodeId first) {
    first_of_[node.id] = first;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      rewrite_.Redirect(node.outputs[i],
                        {.node = first, .index = static_cast<int>(i)});
    }
    rewrite_.Drop(node.id, first);
  }

  const PassContext& context_;
  GraphRewrite& rewrite_;
  Overwrites overwrites_;
  IdMap<NodeId, NodeId> first_of_;  // what a visited node has become
  std::map<Key, std::vector<NodeId>> known_;
};

}  // namespace

// In order of id, which for all but edited graphs has inputs before readers;
// where it has not, two equal nodes may be left.
void MergeCommonNodes(const PassContext& context, GraphRewrite& rewrite) {
  Merger merger(context, rewrite);
  for (const Node& node : context.graph.nodes()) merger.Visit(node);
}

}  // namespace spillway

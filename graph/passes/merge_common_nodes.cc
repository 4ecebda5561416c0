#include "graph/passes/merge_common_nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// For each storage: the level of the first node that overwrites it.
class Overwrites {
 public:
  explicit Overwrites(const PassContext& context)
      : context_(context),
        storages_(StorageMap::Of(context.graph, context.registry)),
        first_(storages_.size(), kNever) {
    for (const StorageId id : storages_.storages().ids()) {
      for (const NodeId node : storages_.storage(id).overwriters) {
        first_[id] = std::min(first_[id], context.levels[node]);
      }
    }
  }

  // Whether `node` certainly reads every input before it is overwritten.
  bool ReadsBefore(const Node& node) const {
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      const int32_t first = first_[storages_.id_of(input)];
      return first == kNever || context_.levels[node.id] < first;
    });
  }

 private:
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

  const PassContext& context_;
  const StorageMap storages_;
  IdMap<StorageId, int32_t> first_;
};

bool IsMergeable(const PassContext& context, const Node& node) {
  const OpDef* def = context.registry.Find(node.op);
  return def != nullptr && def->mutates.empty() && !node.outputs.empty() &&
         node.op != kVariable && node.op != kPlaceholder &&
         node.placement == Placement::kDevice && !IsCloneName(node.name);
}

// Nodes with equal keys and equal attributes compute the same values.
using Key = std::tuple<std::string, std::vector<ValueId>, std::vector<NodeId>>;

class NodeMerger {
 public:
  NodeMerger(const PassContext& context, GraphRewrite& rewrite)
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
  // With each merged input replaced by the node that stays.
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
  IdMap<NodeId, NodeId> first_of_;  // the node that replaces a visited node
  std::map<Key, std::vector<NodeId>> known_;
};

}  // namespace

// Visits nodes by id. Inputs have lower ids than their readers except in edited
// graphs; there, two equal nodes may remain.
void MergeCommonNodes(const PassContext& context, GraphRewrite& rewrite) {
  NodeMerger merger(context, rewrite);
  for (const Node& node : context.graph.nodes()) merger.Visit(node);
}

}  // namespace spillway

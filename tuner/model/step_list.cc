#include "tuner/model/step_list.h"

#include <algorithm>

#include "executor/plan/assign_buffers.h"
#include "graph/feeds.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Lister {
 public:
  Lister(const Graph& graph, const OpRegistry& ops, const StorageMap& storages,
         const CompileOptions& options, const IdMap<NodeId, int64_t>& kernel_ns,
         const InPlaceRules& rules)
      : graph_(graph),
        ops_(ops),
        storages_(storages),
        options_(options),
        kernel_ns_(kernel_ns),
        rules_(rules),
        index_of_(storages.size(), kNoStorage) {
    list_.resident_bytes = options.residents.bytes;
  }

  StepList Run(const Schedule& schedule) {
    for (const NodeId id : schedule.order) {
      const Node& node = graph_.node(id);
      if (!IsResidentNode(node, ops_)) AddStep(node);
    }
    for (const ValueId fetch : options_.fetches) {
      const StorageIndex index = index_of_[storages_.id_of(fetch)];
      if (index == kNoStorage) continue;
      list_.storages[static_cast<size_t>(index)].is_fetched = true;
    }
    return std::move(list_);
  }

 private:
  void AddStep(const Node& node) {
    ListedStep step = {.node = node.id,
                       .kind = KindOf(node),
                       .in_place = &rules_[node.id],
                       .first_slot = static_cast<int32_t>(list_.slots.size())};
    if (step.kind == StepKind::kCompute &&
        node.placement == Placement::kDevice && !CopiesToDevice(node.op) &&
        !IsCollective(node.op)) {
      step.kernel_ns = kernel_ns_[node.id];
    }
    if (!options_.workspace_bytes.empty()) {
      step.workspace_bytes = options_.workspace_bytes[node.id];
    }
    if (step.kind != StepKind::kFeed) {
      for (const ValueId input : node.inputs) AddSlot(input);
      step.num_inputs = static_cast<int32_t>(node.inputs.size());
    }
    for (const ValueId output : node.outputs) AddSlot(output);
    step.num_outputs = static_cast<int32_t>(node.outputs.size());
    list_.steps.push_back(step);
  }

  StepKind KindOf(const Node& node) const {
    if (FeedOf(graph_, node, options_.fetches).is_valid()) {
      return StepKind::kFeed;
    }
    return IsPureAlias(ops_.Find(node.op)) ? StepKind::kAlias
                                           : StepKind::kCompute;
  }

  void AddSlot(ValueId value) {
    list_.slots.push_back({.value = value, .storage = IndexOf(value)});
  }

  StorageIndex IndexOf(ValueId value) {
    const StorageId id = storages_.id_of(value);
    const Storage& storage = storages_.storage(id);
    if (storage.is_resident) return kNoStorage;
    if (index_of_[id] != kNoStorage) return index_of_[id];
    const Node& maker = graph_.node(graph_.value(storage.root).producer);
    index_of_[id] = static_cast<StorageIndex>(list_.storages.size());
    list_.storages.push_back({.root = storage.root,
                              .bytes = graph_.type(storage.root).num_bytes(),
                              .on_device = OutputSpace(maker) == Space::kDevice,
                              .can_be_copied = storage.can_be_copied()});
    return index_of_[id];
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const StorageMap& storages_;
  const CompileOptions& options_;
  const IdMap<NodeId, int64_t>& kernel_ns_;
  const InPlaceRules& rules_;
  IdMap<StorageId, StorageIndex> index_of_;
  StepList list_;
};

}  // namespace

InPlaceRules FindInPlaceRules(const Graph& graph, const OpRegistry& ops,
                              const StorageMap& storages) {
  InPlaceRules rules;
  rules.reserve(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    rules.push_back(FindInPlaceRule(graph, ops, storages, node));
  }
  return rules;
}

StepList ListOf(const Graph& graph, const OpRegistry& ops,
                const StorageMap& storages, const Schedule& schedule,
                const CompileOptions& options,
                const IdMap<NodeId, int64_t>& kernel_ns,
                const InPlaceRules& rules) {
  return Lister(graph, ops, storages, options, kernel_ns, rules).Run(schedule);
}

}  // namespace spillway

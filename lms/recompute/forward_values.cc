#include "lms/recompute/forward_values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "lms/backward_phase.h"
#include "lms/recompute/clonable.h"
#include "lms/scopes.h"

namespace spillway {

absl::Status CheckExclusions(const RecomputeOptions& options,
                             const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckScopes("lms_recompute_excl_scopes", options.excl_scopes, graph));
  const std::vector<std::string> absent =
      AbsentTypes(options.excl_types, graph);
  if (absent.empty()) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("lms_recompute_excl_types: no node of {} is of the op {}",
                  graph.name(), absent[0]));
}

namespace {

absl::Status CheckKnowsOps(const OpRegistry& ops, const Graph& graph) {
  const bool any = std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return ops.Find(node.op) != nullptr;
  });
  if (any) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "lms_recompute: no op of {} is known here, and nodes of unknown ops are "
      "never computed again, since they may have side effects",
      graph.name()));
}

}  // namespace

absl::StatusOr<ForwardValues> ForwardValues::Of(const LmsOptions& options,
                                                const OpRegistry& ops,
                                                const StorageMap& storages,
                                                const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckKnowsOps(ops, graph));
  SPILLWAY_RETURN_IF_ERROR(CheckExclusions(options.recompute, graph));
  ForwardValues values(graph, ops, storages);
  SPILLWAY_ASSIGN_OR_RETURN(values.is_backward_,
                            FindBackwardNodes(options, graph));
  SPILLWAY_ASSIGN_OR_RETURN(values.levels_, Levels(graph));
  values.order_ = OrderByLevel(values.levels_);
  values.FindRemakes(options.recompute);
  values.first_reader_.resize(storages.size(), NodeId());
  for (const NodeId id : values.order_) {
    if (!values.IsBackward(id)) continue;
    for (const ValueId input : graph.node(id).inputs) {
      if (values.IsBackward(graph.value(input).producer)) continue;
      NodeId& first = values.first_reader_[storages.id_of(input)];
      if (!first.is_valid()) first = id;
    }
  }
  return values;
}

// A storage that some node overwrites, and resident bytes, are not made again.
void ForwardValues::FindRemakes(const RecomputeOptions& options) {
  can_remake_.resize(graph_->num_values(), false);
  const NodeFilter excluded = {options.excl_scopes, options.excl_types};
  for (const Node& node : graph_->nodes()) {
    if (IsBackward(node.id) || excluded.Matches(node) || ReadsUpdated(node)) {
      continue;
    }
    const bool is_clonable = WhyNotClonable(node, *ops_).empty();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId value = node.outputs[i];
      if (!storages_->of(value).can_be_copied()) continue;
      can_remake_[value] =
          is_clonable ||
          DeriveOutput(*graph_, node, static_cast<int>(i), *ops_).has_value();
    }
  }
}

// Whether the node reads bytes that another node overwrote before. Its clone
// would need the path that orders the two.
bool ForwardValues::ReadsUpdated(const Node& node) const {
  return std::ranges::any_of(node.inputs, [&](ValueId input) {
    return std::ranges::any_of(
        storages_->of(input).overwriters,
        [&](NodeId overwriter) { return level(overwriter) < level(node.id); });
  });
}

int64_t ForwardValues::BytesOf(StorageId id) const {
  return graph_->type(storages_->storage(id).root).num_bytes();
}

NodeId ForwardValues::MakerOf(StorageId id) const {
  return graph_->value(storages_->storage(id).root).producer;
}

bool ForwardValues::CanRemake(StorageId id) const {
  return std::ranges::all_of(storages_->storage(id).values, [&](ValueId value) {
    return can_remake_[value] || IsBackward(graph_->value(value).producer);
  });
}

std::vector<ValueId> ForwardValues::InputsOfRemake(ValueId value) const {
  const Value& of = graph_->value(value);
  const Node& node = graph_->node(of.producer);
  const std::optional<DerivedNode> derived =
      DeriveOutput(*graph_, node, of.index, *ops_);
  return derived ? InputsOfDerived(*graph_, node, *derived, *ops_)
                 : node.inputs;
}

NodeId ForwardValues::TriggerFor(NodeId reader) const {
  NodeId trigger;
  ForEachPredecessor(*graph_, reader, [&](NodeId before) {
    if (!IsBackward(before) || IsResidentNode(graph_->node(before), *ops_)) {
      return;
    }
    if (trigger.is_valid() && level(before) <= level(trigger)) return;
    trigger = before;
  });
  return trigger;
}

bool ForwardValues::Waits(StorageId id) const {
  if (!FirstReader(id).is_valid()) return false;
  const NodeId trigger = TriggerFor(FirstReader(id));
  if (!trigger.is_valid()) return false;
  for (const ValueId value : storages_->storage(id).values) {
    for (const Use& use : graph_->uses(value)) {
      if (!IsBackward(use.node) && level(use.node) >= level(trigger)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace spillway

#include "lms/recompute/verify_recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/order/paths.h"
#include "graph/order/schedule.h"
#include "graph/parts.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/types_of.h"
#include "lms/check_kept.h"
#include "lms/recompute/clonable.h"

namespace spillway {
namespace {

class RecomputeVerifier {
 public:
  RecomputeVerifier(const Graph& original, const Graph& edited,
                    const RecomputePlan& plan, const OpRegistry& ops)
      : original_(original),
        edited_(edited),
        plan_(plan),
        ops_(ops),
        storages_(StorageMap::Of(original, ops)) {}

  absl::Status Run() {
    if (edited_.num_nodes() != original_.num_nodes() + plan_.clones.size()) {
      return Internal(fmt::format(
          "the plan adds {} nodes, the edit added {}", plan_.clones.size(),
          static_cast<int64_t>(edited_.num_nodes()) -
              static_cast<int64_t>(original_.num_nodes())));
    }
    SPILLWAY_RETURN_IF_ERROR(FindOrders());
    added_control_inputs_.resize(original_.num_nodes());
    for (const RecomputePlan::Order& order : plan_.orders) {
      added_control_inputs_[order.after].push_back(
          NodeOf(static_cast<size_t>(order.before)).id);
    }
    for (const Node& node : original_.nodes()) {
      SPILLWAY_RETURN_IF_ERROR(CheckKept(original_, edited_, node.id));
      SPILLWAY_RETURN_IF_ERROR(CheckInputs(node));
      SPILLWAY_RETURN_IF_ERROR(CheckControlInputs(node));
    }
    for (size_t i = 0; i < plan_.clones.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(CheckClone(plan_.clones[i], NodeOf(i)));
    }
    return CheckOverwrites();
  }

 private:
  bool IsOriginal(NodeId id) const {
    return id.index() < original_.num_nodes();
  }

  const Node& NodeOf(size_t clone) const {
    return edited_.node(NodeId(original_.num_nodes() + clone));
  }

  const Clone& CloneOf(NodeId added) const {
    return plan_.clones[added.index() - original_.num_nodes()];
  }

  // A topological order of the edited graph, and the levels of the original.
  absl::Status FindOrders() {
    const auto edited = Levels(edited_);
    if (!edited.ok()) return Internal(std::string(edited.status().message()));
    const auto original = Levels(original_);
    if (!original.ok()) {
      return Internal(std::string(original.status().message()));
    }
    level_ = *original;
    order_ = OrderByLevel(*edited);
    return absl::OkStatus();
  }

  // The value of the original that `value` equals; invalid if there is none.
  ValueId Contract(ValueId value) const {
    const Value& of = edited_.value(value);
    if (IsOriginal(of.producer)) return value;
    const Clone& clone = CloneOf(of.producer);
    const std::vector<ValueId>& outputs =
        original_.node(clone.original).outputs;
    const auto output = static_cast<size_t>(OriginalOutput(clone, of.index));
    return output < outputs.size() ? outputs[output] : ValueId();
  }

  absl::Status CheckInputs(const Node& before) const {
    const Node& after = edited_.node(before.id);
    if (before.inputs.size() != after.inputs.size()) {
      return Internal(fmt::format("the edit changed the number of inputs of {}",
                                  before.name));
    }
    for (size_t slot = 0; slot < before.inputs.size(); ++slot) {
      if (Contract(after.inputs[slot]) == before.inputs[slot]) continue;
      return Internal(fmt::format("input {} of {} was {}, but is {}", slot,
                                  before.name,
                                  original_.ValueName(before.inputs[slot]),
                                  edited_.ValueName(after.inputs[slot])));
    }
    return absl::OkStatus();
  }

  absl::Status CheckControlInputs(const Node& before) const {
    std::vector<NodeId> expected = before.control_inputs;
    const std::vector<NodeId>& added = added_control_inputs_[before.id];
    expected.insert(expected.end(), added.begin(), added.end());
    const Node& after = edited_.node(before.id);
    if (SameNodes(after.control_inputs, expected)) return absl::OkStatus();
    return Internal(fmt::format(
        "the control inputs of {} are not the original's with those that the "
        "plan adds",
        before.name));
  }

  absl::Status CheckClone(const Clone& clone, const Node& node) const {
    const Node& original = original_.node(clone.original);
    const auto wrong = [&](const std::string& why) {
      return Internal(fmt::format("{} is the clone of {}, but {}", node.name,
                                  original.name, why));
    };
    const std::string difference = clone.derived_output < 0
                                       ? FromSameOp(original, node)
                                       : FromDerived(clone, original, node);
    if (!difference.empty()) return wrong(difference);
    if (!SameNodes(node.control_inputs, clone.triggers)) {
      return wrong("has other triggers than in the plan");
    }
    if (clone.triggers.empty()) return wrong("has no trigger");
    if (!std::ranges::all_of(clone.triggers,
                             [&](NodeId id) { return IsOriginal(id); })) {
      return wrong("its trigger is a clone");
    }
    if (!HasPlannedReaders(clone, node)) {
      return wrong("has other readers than in the plan, or none");
    }
    return absl::OkStatus();
  }

  // Why `node` is not a clone with the original's op; empty if it is one.
  std::string FromSameOp(const Node& original, const Node& node) const {
    const std::string why_not = WhyNotClonable(original, ops_);
    if (!why_not.empty()) return fmt::format("it has none: {}", why_not);
    if (node.op != original.op || node.attributes != original.attributes ||
        node.placement != original.placement || node.cost != original.cost) {
      return "is another op, or has other attributes";
    }
    if (TypesOf(edited_, node.outputs) !=
        TypesOf(original_, original.outputs)) {
      return "has other types";
    }
    if (node.inputs.size() != original.inputs.size()) {
      return "has another number of inputs";
    }
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (Contract(node.inputs[slot]) == original.inputs[slot]) continue;
      return fmt::format("its input {} is {}", slot,
                         edited_.ValueName(node.inputs[slot]));
    }
    return "";
  }

  // Why `node` is not what OpDef::derive gives; empty if it is.
  std::string FromDerived(const Clone& clone, const Node& original,
                          const Node& node) const {
    const std::optional<DerivedNode> derived =
        DeriveOutput(original_, original, clone.derived_output, ops_);
    const auto output = static_cast<size_t>(clone.derived_output);
    if (!derived || output >= original.outputs.size()) {
      return fmt::format("its output {} cannot be derived",
                         clone.derived_output);
    }
    if (node.op != derived->op || node.attributes != derived->attributes ||
        node.placement != Placement::kDevice || node.cost.has_value()) {
      return "is another op, or has other attributes";
    }
    if (node.outputs.size() != 1 ||
        edited_.type(node.outputs[0]) !=
            original_.type(original.outputs[output])) {
      return "has other types";
    }
    if (node.inputs.size() != derived->inputs.size()) {
      return "has another number of inputs";
    }
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const DerivedInput& input = derived->inputs[slot];
      const std::vector<ValueId>& from =
          input.is_output ? original.outputs : original.inputs;
      const ValueId read = Contract(node.inputs[slot]);
      const ValueId expected = from[static_cast<size_t>(input.index)];
      if (read.is_valid() &&
          IsSameUpTo(original_, expected, read, EndOfPart(node, slot))) {
        continue;
      }
      return fmt::format("its input {} is {}", slot,
                         edited_.ValueName(node.inputs[slot]));
    }
    return "";
  }

  // The end of the channels that the node reads of this input.
  int64_t EndOfPart(const Node& node, size_t slot) const {
    for (const InputPart& part : PartsOf(ops_, node)) {
      if (part.input == static_cast<int64_t>(slot)) {
        return part.begin + part.size;
      }
    }
    return std::numeric_limits<int64_t>::max();
  }

  // Whether the original nodes that read the clone are those of the plan, and
  // some node reads it.
  bool HasPlannedReaders(const Clone& clone, const Node& node) const {
    bool is_read = false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      std::vector<NodeId> planned;
      for (const CloneReaders& readers : clone.readers) {
        if (readers.output != static_cast<int32_t>(i)) continue;
        planned.insert(planned.end(), readers.readers.begin(),
                       readers.readers.end());
      }
      std::vector<NodeId> actual;
      ForEachReader(edited_, node.outputs[i], [&](NodeId reader) {
        is_read = true;
        if (IsOriginal(reader)) actual.push_back(reader);
      });
      if (!SameNodes(actual, planned)) return false;
    }
    return is_read;
  }

  // A clone and a node that overwrites bytes that it reads are ordered like the
  // original and that node: the original graph has a path between these two
  // (CheckMutationOrder), so their levels tell its direction.
  absl::Status CheckOverwrites() const {
    std::vector<RequiredPath> paths;
    for (size_t i = 0; i < plan_.clones.size(); ++i) {
      const Node& node = NodeOf(i);
      const NodeId original = plan_.clones[i].original;
      for (const ValueId input : node.inputs) {
        for (const NodeId overwriter :
             storages_.of(Contract(input)).overwriters) {
          if (level_[original] < level_[overwriter]) {
            paths.push_back({.before = node.id, .after = overwriter});
          } else {
            paths.push_back({.before = overwriter, .after = node.id});
          }
        }
      }
    }
    paths = WithoutPathsThroughReaders(std::move(paths));
    const std::vector<size_t> missing =
        FindMissingPaths(edited_, order_, paths);
    if (missing.empty()) return absl::OkStatus();
    const RequiredPath& path = paths[missing[0]];
    return Internal(fmt::format(
        "{} must run before {}, since one of them overwrites what the other "
        "reads, but no path orders them",
        edited_.node(path.before).name, edited_.node(path.after).name));
  }

  // Leaves out the paths that exist because one leads on from the node's last
  // reader before their end. Such paths are short, and so quickly found: clones
  // of many layers may run together, long before the last of the updates.
  std::vector<RequiredPath> WithoutPathsThroughReaders(
      std::vector<RequiredPath> paths) const {
    IdMap<NodeId, int32_t> place(edited_.num_nodes(), 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      place[order_[i]] = static_cast<int32_t>(i);
    }
    const IdMap<NodeId, NodeId> last_reader = LastReaders(place);
    std::vector<RequiredPath> shorter = paths;
    for (RequiredPath& path : shorter) {
      NodeId last = path.before;
      const auto pass_through = [&](NodeId reader) {
        if (place[reader] <= place[path.after] && place[reader] > place[last]) {
          last = reader;
        }
      };
      ForEachSuccessor(edited_, path.before, pass_through);
      pass_through(last_reader[path.before]);
      path.before = last;
    }
    std::vector<RequiredPath> left;
    for (const size_t i : FindMissingPaths(edited_, order_, shorter)) {
      left.push_back(paths[i]);
    }
    return left;
  }

  // The last node that reads a clone, through other clones; of other nodes, the
  // node itself.
  IdMap<NodeId, NodeId> LastReaders(const IdMap<NodeId, int32_t>& place) const {
    IdMap<NodeId, NodeId> last_reader(edited_.num_nodes(), NodeId());
    for (size_t i = order_.size(); i-- > 0;) {
      const NodeId id = order_[i];
      NodeId& last = last_reader[id];
      last = id;
      if (IsOriginal(id)) continue;
      for (const ValueId output : edited_.node(id).outputs) {
        ForEachReader(edited_, output, [&](NodeId reader) {
          const NodeId through = last_reader[reader];
          if (place[through] > place[last]) last = through;
        });
      }
    }
    return last_reader;
  }

  const Graph& original_;
  const Graph& edited_;
  const RecomputePlan& plan_;
  const OpRegistry& ops_;
  const StorageMap storages_;     // of the original
  IdMap<NodeId, int32_t> level_;  // in the original
  std::vector<NodeId> order_;     // of the edited graph
  IdMap<NodeId, std::vector<NodeId>> added_control_inputs_;  // by the plan
};

}  // namespace

absl::Status VerifyRecompute(const Graph& original, const Graph& edited,
                             const RecomputePlan& plan, const OpRegistry& ops) {
  return RecomputeVerifier(original, edited, plan, ops).Run();
}

}  // namespace spillway

#include "lms/verify_swaps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"
#include "lms/check_kept.h"

namespace spillway {
namespace {

class Verifier {
 public:
  Verifier(const Graph& original, const Graph& edited,
           const AllowedEdit& allowed)
      : original_(original), edited_(edited), allowed_(allowed) {}

  absl::Status Run() {
    if (edited_.num_nodes() < original_.num_nodes()) {
      return Internal("the edit removed nodes");
    }
    if (const auto levels = Levels(edited_); !levels.ok()) {
      return Internal(std::string(levels.status().message()));
    }
    NumberPlan();
    for (const Node& node : original_.nodes()) {
      SPILLWAY_RETURN_IF_ERROR(CheckKept(original_, edited_, node.id));
      SPILLWAY_RETURN_IF_ERROR(CheckInputs(node, edited_.node(node.id)));
      SPILLWAY_RETURN_IF_ERROR(CheckControlInputs(node, edited_.node(node.id)));
    }
    for (size_t i = original_.num_nodes(); i < edited_.num_nodes(); ++i) {
      const Node& node = edited_.node(NodeId(i));
      const AddedAlias* alias = AliasAt(node.id);
      SPILLWAY_RETURN_IF_ERROR(alias == nullptr ? CheckSwap(node)
                                                : CheckAlias(node, *alias));
    }
    SPILLWAY_RETURN_IF_ERROR(CheckStorages());
    return CheckAgainstPlan();
  }

 private:
  // A node that recreates `alias` of the original behind a swap-in.
  struct AddedAlias {
    NodeId alias = {};
    NodeId swap_in = {};
  };

  // Null if the node is not an added alias.
  const AddedAlias* AliasAt(NodeId id) const {
    if (id.index() < first_alias_ ||
        id.index() - first_alias_ >= aliases_.size()) {
      return nullptr;
    }
    return &aliases_[id.index() - first_alias_];
  }

  bool is_original(NodeId id) const {
    return id.index() < original_.num_nodes();
  }

  // Numbers the added nodes in the order of the plan, and collects the control
  // inputs that the plan adds to each node of the original.
  void NumberPlan() {
    added_control_inputs_.resize(original_.num_nodes());
    size_t next = original_.num_nodes();
    for (const Swap& swap : allowed_.plan.swaps) {
      for (const NodeId waiter : swap.waiters) {
        added_control_inputs_[waiter].emplace_back(next);
      }
      ++next;
      for (const SwapIn& swap_in : swap.swap_ins) {
        for (const NodeId alias : swap_in.aliases) {
          aliases_.push_back({.alias = alias, .swap_in = NodeId(next)});
        }
        ++next;
      }
    }
    first_alias_ = next;
    for (const AddedOrder& order : allowed_.plan.orders) {
      added_control_inputs_[order.after].push_back(order.before);
    }
    planned_nodes_ = next + aliases_.size();
  }

  // The value of the original that `value` is a copy of, through added nodes.
  ValueId Contract(ValueId value) const {
    while (!is_original(edited_.value(value).producer)) {
      const Node& added = edited_.producer(value);
      if (const AddedAlias* alias = AliasAt(added.id)) {
        const auto index = static_cast<size_t>(edited_.value(value).index);
        const std::vector<ValueId>& outputs =
            original_.node(alias->alias).outputs;
        return index < outputs.size() ? outputs[index] : ValueId();
      }
      if (added.inputs.empty()) return {};
      value = added.inputs[0];
    }
    return value;
  }

  absl::Status CheckInputs(const Node& before, const Node& after) const {
    if (before.inputs.size() != after.inputs.size()) {
      return Internal(fmt::format("the edit changed the number of inputs of {}",
                                  before.name));
    }
    for (size_t slot = 0; slot < before.inputs.size(); ++slot) {
      if (Contract(after.inputs[slot]) != before.inputs[slot]) {
        return Internal(fmt::format("input {} of {} was {}, but is {}", slot,
                                    before.name,
                                    original_.ValueName(before.inputs[slot]),
                                    edited_.ValueName(after.inputs[slot])));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckControlInputs(const Node& before, const Node& after) const {
    std::vector<NodeId> expected = before.control_inputs;
    const std::vector<NodeId>& added = added_control_inputs_[before.id];
    expected.insert(expected.end(), added.begin(), added.end());
    if (SameNodes(after.control_inputs, expected)) return absl::OkStatus();
    return Internal(fmt::format(
        "the control inputs of {} are not the original's with those that the "
        "plan adds",
        before.name));
  }

  absl::Status CheckSwap(const Node& node) const {
    const bool out = node.op == kSwapOut;
    if (!out && node.op != kSwapIn) {
      return Internal(
          fmt::format("the edit added {} of op {}", node.name, node.op));
    }
    if (node.inputs.size() != 1 || node.outputs.size() != 1 ||
        edited_.type(node.inputs[0]) != edited_.type(node.outputs[0]) ||
        node.placement != Placement::kHost || node.attributes != Attributes()) {
      return Internal(fmt::format(
          "{} must have one input and one output of the same type, on the "
          "host, and nothing else",
          node.name));
    }
    const bool from_swap_out = edited_.producer(node.inputs[0]).op == kSwapOut;
    if (out == from_swap_out) {
      return Internal(fmt::format("{} reads {}", node.name,
                                  edited_.ValueName(node.inputs[0])));
    }
    SPILLWAY_RETURN_IF_ERROR(CheckTriggers(node));
    return CheckReaders(node);
  }

  absl::Status CheckTriggers(const Node& node) const {
    if (node.op == kSwapOut) {
      if (node.control_inputs.empty()) return absl::OkStatus();
      return Internal(fmt::format("{} has a control input", node.name));
    }
    if (!std::ranges::all_of(node.control_inputs,
                             [&](NodeId id) { return is_original(id); })) {
      return Internal(fmt::format("the trigger of {} is a swap", node.name));
    }
    if (allowed_.every_swap_in_has_a_trigger && node.control_inputs.empty()) {
      return Internal(fmt::format("{} has no trigger", node.name));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReaders(const Node& node) const {
    const bool out = node.op == kSwapOut;
    const std::vector<Use>& uses = edited_.uses(node.outputs[0]);
    const auto right_reader = [&](const Use& use) {
      return (edited_.node(use.node).op == kSwapIn) == out;
    };
    if (!uses.empty() && std::ranges::all_of(uses, right_reader)) {
      return absl::OkStatus();
    }
    return Internal(
        out ? fmt::format("{} must be read by swap-ins, and is not", node.name)
            : fmt::format("{} must have a reader that is no swap", node.name));
  }

  // Checks that the node computes the same as the original's alias, from the
  // copy.
  absl::Status CheckAlias(const Node& node, const AddedAlias& added) const {
    const Node& alias = original_.node(added.alias);
    const auto wrong = [&](std::string_view why) {
      return Internal(fmt::format("{} stands for {}, but {}", node.name,
                                  alias.name, std::string(why)));
    };
    if (allowed_.storages == nullptr ||
        !allowed_.storages->is_pure_alias(added.alias)) {
      return wrong("that is no pure alias");
    }
    if (node.op != alias.op || node.attributes != alias.attributes ||
        node.placement != alias.placement || node.cost != alias.cost ||
        TypesOf(edited_, node.outputs) != TypesOf(original_, alias.outputs)) {
      return wrong("is another op");
    }
    if (!node.control_inputs.empty()) return wrong("has a control input");
    if (node.inputs.size() != alias.inputs.size()) {
      return wrong("has another number of inputs");
    }
    bool reads_copy = false;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (Contract(node.inputs[slot]) != alias.inputs[slot]) {
        return wrong("reads another value");
      }
      reads_copy |= IsBehind(added.swap_in, node.inputs[slot]);
    }
    return reads_copy ? absl::OkStatus() : wrong("does not read the copy");
  }

  // Whether the swap-in, or an alias behind it, produces the value.
  bool IsBehind(NodeId swap_in, ValueId value) const {
    const NodeId producer = edited_.value(value).producer;
    const AddedAlias* alias = AliasAt(producer);
    return producer == swap_in ||
           (alias != nullptr && alias->swap_in == swap_in);
  }

  // If another node overwrites the bytes, a copy may be older than what its
  // readers expect.
  absl::Status CheckStorages() const {
    if (allowed_.storages == nullptr) return absl::OkStatus();
    const StorageMap& storages = *allowed_.storages;
    IdMap<StorageId, bool> is_swapped(storages.size(), false);
    for (const Swap& swap : allowed_.plan.swaps) {
      const StorageId id = storages.id_of(swap.value);
      const std::string_view why =
          storages.storage(id).is_resident            ? "is resident"
          : !storages.storage(id).overwriters.empty() ? "is overwritten"
          : is_swapped[id] ? "is swapped under another name too"
                           : "";
      is_swapped[id] = true;
      if (why.empty()) continue;
      return Internal(fmt::format("{} is swapped, but {}",
                                  original_.ValueName(swap.value),
                                  std::string(why)));
    }
    return absl::OkStatus();
  }

  // Checks the added nodes one by one.
  absl::Status CheckAgainstPlan() const {
    if (edited_.num_nodes() != planned_nodes_) {
      return Internal(fmt::format("the plan adds {} nodes, but {} were added",
                                  planned_nodes_ - original_.num_nodes(),
                                  edited_.num_nodes() - original_.num_nodes()));
    }
    size_t next = original_.num_nodes();
    for (const Swap& swap : allowed_.plan.swaps) {
      const Node& swap_out = edited_.node(NodeId(next++));
      if (swap_out.op != kSwapOut || swap_out.inputs[0] != swap.value) {
        return NotAsPlanned(swap_out);
      }
      for (const SwapIn& swap_in : swap.swap_ins) {
        const Node& node = edited_.node(NodeId(next++));
        if (node.op != kSwapIn || node.inputs[0] != swap_out.outputs[0] ||
            !SameNodes(node.control_inputs, swap_in.triggers) ||
            !HasReaders(node, swap_in.readers)) {
          return NotAsPlanned(node);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status NotAsPlanned(const Node& node) const {
    return Internal(fmt::format(
        "{} is not between the value, triggers and readers of the plan",
        node.name));
  }

  // Whether the readers of the copy, under all its names, are as expected.
  bool HasReaders(const Node& swap_in, std::vector<NodeId> expected) const {
    std::vector<NodeId> readers;
    const auto add = [&](NodeId reader) {
      if (AliasAt(reader) == nullptr) readers.push_back(reader);
    };
    ForEachReader(edited_, swap_in.outputs[0], add);
    auto alias = std::ranges::lower_bound(aliases_, swap_in.id, {},
                                          &AddedAlias::swap_in);
    for (; alias != aliases_.end() && alias->swap_in == swap_in.id; ++alias) {
      const auto place = static_cast<size_t>(alias - aliases_.begin());
      for (const ValueId output :
           edited_.node(NodeId(first_alias_ + place)).outputs) {
        ForEachReader(edited_, output, add);
      }
    }
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return SameNodes(std::move(readers), std::move(expected));
  }

  const Graph& original_;
  const Graph& edited_;
  const AllowedEdit& allowed_;
  IdMap<NodeId, std::vector<NodeId>> added_control_inputs_;
  std::vector<AddedAlias> aliases_;  // in order of creation
  size_t first_alias_ = 0;           // index of their first node
  size_t planned_nodes_ = 0;
};

}  // namespace

absl::Status VerifySwaps(const Graph& original, const Graph& edited,
                         const AllowedEdit& allowed) {
  return Verifier(original, edited, allowed).Run();
}

}  // namespace spillway

#include "lms/recompute/make_clones.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/order/paths.h"
#include "graph/traverse.h"

namespace spillway {
namespace {

class CloneMaker {
 public:
  CloneMaker(const ForwardValues& values,
             const IdMap<StorageId, bool>& is_remade)
      : values_(values),
        graph_(values.graph()),
        is_remade_(is_remade),
        first_reader_(graph_.num_values(), NodeId()),
        clone_of_(graph_.num_values(), CloneInput()) {}

  RecomputePlan Make() {
    const std::span<const NodeId> order = values_.order();
    for (size_t i = order.size(); i-- > 0;) FindFirstReaders(order[i]);
    for (const NodeId id : order) AddClonesOf(id);
    AddOrders();
    return std::move(plan_);
  }

 private:
  bool IsRemade(ValueId value) const {
    return is_remade_[values_.storages().id_of(value)] &&
           !values_.IsBackward(graph_.value(value).producer);
  }

  bool IsDerived(NodeId id) const {
    const OpDef* def = values_.ops().Find(graph_.node(id).op);
    return def != nullptr && def->recompute == RecomputeRule::kDerive;
  }

  bool IsBefore(NodeId a, NodeId b) const {
    return std::pair(values_.level(a), a) < std::pair(values_.level(b), b);
  }

  // `reader`, or a node that is read earlier, reads the clone for `value`.
  void AddReader(ValueId value, NodeId reader) {
    NodeId& first = first_reader_[value];
    if (!first.is_valid() || IsBefore(reader, first)) first = reader;
  }

  std::vector<NodeId> BackwardReaders(ValueId value) const {
    std::vector<NodeId> readers;
    ForEachReader(graph_, value, [&](NodeId reader) {
      if (values_.IsBackward(reader)) readers.push_back(reader);
    });
    return readers;
  }

  // Decides which outputs of the node have a clone, after this was decided for
  // all nodes that read them.
  void FindFirstReaders(NodeId id) {
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    for (const ValueId output : outputs) {
      if (!IsRemade(output) || BackwardReaders(output).empty()) continue;
      const StorageId storage = values_.storages().id_of(output);
      AddReader(output, values_.FirstReader(storage));
    }
    if (IsDerived(id)) {
      for (const ValueId output : outputs) Decide({&output, 1});
    } else {
      Decide(outputs);
    }
  }

  // For the outputs of one clone.
  void Decide(std::span<const ValueId> outputs) {
    NodeId first;
    for (const ValueId output : outputs) {
      const NodeId reader = first_reader_[output];
      if (!reader.is_valid()) continue;
      if (!first.is_valid() || IsBefore(reader, first)) first = reader;
    }
    if (!first.is_valid()) return;
    const std::vector<ValueId> inputs = values_.InputsOfRemake(outputs[0]);
    const char* why_not = WhyNotFor(first, inputs, outputs[0]);
    for (const ValueId output : outputs) {
      NodeId& reader = first_reader_[output];
      if (!reader.is_valid()) continue;
      reader = why_not == nullptr ? first : NodeId();
      if (why_not == nullptr) continue;
      plan_.dropped.push_back({.value = output, .reason = why_not});
    }
    if (why_not != nullptr) return;
    const NodeId original = graph_.value(outputs[0]).producer;
    for (const ValueId input : inputs) {
      // (A state of a tensor after `original` is not made again for it.)
      const bool is_before = IsBefore(graph_.value(input).producer, original);
      if (is_before && IsRemade(input)) AddReader(input, first);
    }
  }

  // Why a clone for `value` with these inputs cannot run before `reader`; null
  // if it can.
  const char* WhyNotFor(NodeId reader, const std::vector<ValueId>& inputs,
                        ValueId value) const {
    if (IsUpdatedBefore(inputs, value, reader)) {
      return "a variable that its node reads is updated before";
    }
    const bool is_complete = std::ranges::all_of(inputs, [&](ValueId input) {
      return values_.level(graph_.value(input).producer) <
             values_.level(reader);
    });
    return is_complete ? nullptr
                       : "a tensor that its node reads is complete only later";
  }

  // Whether bytes that the original reads are overwritten after it and before
  // `reader`, by levels.
  bool IsUpdatedBefore(const std::vector<ValueId>& inputs, ValueId value,
                       NodeId reader) const {
    const NodeId original = graph_.value(value).producer;
    return std::ranges::any_of(inputs, [&](ValueId input) {
      return std::ranges::any_of(
          values_.storages().of(input).overwriters, [&](NodeId overwriter) {
            return values_.level(overwriter) > values_.level(original) &&
                   values_.level(overwriter) < values_.level(reader);
          });
    });
  }

  void AddClonesOf(NodeId id) {
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    if (!IsDerived(id)) {
      AddClone(id, -1, outputs);
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      AddClone(id, static_cast<int32_t>(i), {&outputs[i], 1});
    }
  }

  // `outputs`: the values of the original that the clone computes.
  void AddClone(NodeId original, int32_t derived_output,
                std::span<const ValueId> outputs) {
    Clone clone = {.original = original, .derived_output = derived_output};
    NodeId first;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!first_reader_[outputs[i]].is_valid()) continue;
      first = first_reader_[outputs[i]];
      const auto output = static_cast<int32_t>(i);
      clone_of_[outputs[i]] = {
          .clone = static_cast<int32_t>(plan_.clones.size()), .output = output};
      std::vector<NodeId> readers = BackwardReaders(outputs[i]);
      if (readers.empty()) continue;
      clone.readers.push_back(
          {.output = output, .readers = std::move(readers)});
    }
    if (!first.is_valid()) return;
    for (const ValueId input : values_.InputsOfRemake(outputs[0])) {
      clone.inputs.push_back(clone_of_[input].clone < 0
                                 ? CloneInput{.value = input}
                                 : clone_of_[input]);
    }
    clone.triggers = {values_.TriggerFor(first)};
    first_reader_of_clone_.push_back(first);
    plan_.clones.push_back(std::move(clone));
  }

  // A clone runs before each node that overwrites bytes that it reads. Mostly a
  // path leads there from one of the clone's readers; from the last of them, it
  // is short.
  void AddOrders() {
    FindLastReaders();
    std::vector<RecomputePlan::Order> orders;
    std::vector<RequiredPath> paths;
    for (size_t i = 0; i < plan_.clones.size(); ++i) {
      for (const NodeId overwriter : OverwritersOf(plan_.clones[i])) {
        orders.push_back(
            {.before = static_cast<int32_t>(i), .after = overwriter});
        paths.push_back(
            {.before = LastReaderBefore(i, overwriter), .after = overwriter});
      }
    }
    std::vector<size_t> missing =
        FindMissingPaths(graph_, values_.order(), paths);
    std::ranges::sort(missing);
    for (const size_t i : missing) plan_.orders.push_back(orders[i]);
  }

  // Clones are read only by later ones, so theirs are known first.
  void FindLastReaders() {
    last_reader_of_clone_ = first_reader_of_clone_;
    for (size_t i = plan_.clones.size(); i-- > 0;) {
      const Clone& clone = plan_.clones[i];
      NodeId& last = last_reader_of_clone_[i];
      for (const CloneReaders& readers : clone.readers) {
        for (const NodeId reader : readers.readers) {
          last = Later(last, reader);
        }
      }
      for (const CloneInput& input : clone.inputs) {
        if (input.clone < 0) continue;
        NodeId& of_input =
            last_reader_of_clone_[static_cast<size_t>(input.clone)];
        of_input = Later(of_input, last);
      }
    }
  }

  NodeId Later(NodeId a, NodeId b) const { return IsBefore(a, b) ? b : a; }

  // By levels. Without the other clones' readers if the last of them comes
  // after `node`; the first reader, through other clones, if no reader is left.
  NodeId LastReaderBefore(size_t clone, NodeId node) const {
    const auto comes_before = [&](NodeId reader) {
      return values_.level(reader) < values_.level(node);
    };
    if (comes_before(last_reader_of_clone_[clone])) {
      return last_reader_of_clone_[clone];
    }
    NodeId last = first_reader_of_clone_[clone];
    for (const CloneReaders& readers : plan_.clones[clone].readers) {
      for (const NodeId reader : readers.readers) {
        if (comes_before(reader)) last = Later(last, reader);
      }
    }
    return last;
  }

  // Nodes that overwrite bytes that the clone reads, each once.
  std::vector<NodeId> OverwritersOf(const Clone& clone) const {
    std::vector<NodeId> overwriters;
    for (const CloneInput& input : clone.inputs) {
      if (input.clone >= 0) continue;
      const Storage& storage = values_.storages().of(input.value);
      overwriters.insert(overwriters.end(), storage.overwriters.begin(),
                         storage.overwriters.end());
    }
    std::ranges::sort(overwriters);
    overwriters.erase(std::unique(overwriters.begin(), overwriters.end()),
                      overwriters.end());
    return overwriters;
  }

  const ForwardValues& values_;
  const Graph& graph_;
  const IdMap<StorageId, bool>& is_remade_;
  // Of the clone that computes the value, through other clones; invalid: none.
  IdMap<ValueId, NodeId> first_reader_;
  IdMap<ValueId, CloneInput> clone_of_;        // `clone` is -1: none
  std::vector<NodeId> first_reader_of_clone_;  // through other clones
  std::vector<NodeId> last_reader_of_clone_;   // the same
  RecomputePlan plan_;
};

}  // namespace

RecomputePlan MakeClones(const ForwardValues& values,
                         const IdMap<StorageId, bool>& is_remade) {
  return CloneMaker(values, is_remade).Make();
}

}  // namespace spillway

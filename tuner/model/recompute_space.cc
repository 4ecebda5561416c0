#include "tuner/model/recompute_space.h"

#include <algorithm>
#include <utility>

#include "executor/plan/in_place_rule.h"
#include "lms/recompute/clonable.h"
#include "lms/scopes.h"
#include "tuner/bound/crowded_steps.h"
#include "tuner/model/derived_nodes.h"

namespace spillway {
namespace {

class SpaceMaker {
 public:
  SpaceMaker(const SpaceInputs& inputs, RecomputeSpace& space)
      : inputs_(inputs),
        space_(space),
        step_of_(inputs.graph.num_nodes(), -1),
        index_of_(space.storages.size(), kNoStorage) {}

  void Run() {
    for (size_t k = 0; k < space_.list.steps.size(); ++k) {
      step_of_[space_.list.steps[k].node] = static_cast<int32_t>(k);
    }
    for (size_t s = 0; s < space_.list.storages.size(); ++s) {
      const ValueId root = space_.list.storages[s].root;
      index_of_[space_.storages.id_of(root)] = static_cast<StorageIndex>(s);
    }
    FindUses();
    AddRemakes();
    FindChoices();
  }

 private:
  const Graph& graph() const { return inputs_.graph; }

  void FindUses() {
    const StepList& list = space_.list;
    space_.last_use.assign(list.storages.size(), -1);
    for (size_t k = 0; k < list.steps.size(); ++k) {
      const auto use = [&](const Slot& slot) {
        if (slot.storage == kNoStorage) return;
        space_.last_use[static_cast<size_t>(slot.storage)] =
            static_cast<int32_t>(k);
      };
      std::ranges::for_each(list.inputs(list.steps[k]), use);
      std::ranges::for_each(list.outputs(list.steps[k]), use);
    }
    space_.gaps_of.resize(list.storages.size());
    for (size_t i = 0; i < space_.model.gaps.size(); ++i) {
      const StorageIndex storage = space_.model.gaps[i].storage;
      if (storage == kNoStorage) continue;
      space_.gaps_of[static_cast<size_t>(storage)].push_back(
          static_cast<int32_t>(i));
    }
    for (size_t s = 0; s < list.storages.size(); ++s) {
      if (list.storages[s].is_fetched) continue;
      space_.by_last_use.push_back(static_cast<StorageIndex>(s));
    }
    std::ranges::stable_sort(space_.by_last_use, {}, [&](StorageIndex s) {
      return space_.last_use[static_cast<size_t>(s)];
    });
  }

  void AddRemakes() {
    space_.remake_of.resize(graph().num_values(), kNoRemake);
    const DerivedNodes derived = AddDerivedNodes(graph(), inputs_.ops);
    const StorageMap derived_storages =
        StorageMap::Of(derived.graph, inputs_.ops);
    const NodeFilter excluded = {inputs_.recompute.excl_scopes,
                                 inputs_.recompute.excl_types};
    for (const ListedStep& step : space_.list.steps) {
      const Node& node = graph().node(step.node);
      if (step.kind == StepKind::kFeed || excluded.Matches(node)) continue;
      if (WhyNotClonable(node, inputs_.ops).empty()) {
        AddSame(step, node);
        continue;
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const NodeId id = derived.node_of[node.outputs[i]];
        if (!id.is_valid()) continue;
        const Node& derived_node = derived.graph.node(id);
        AddDerived(node, static_cast<int32_t>(i), derived_node,
                   FindInPlaceRule(derived.graph, inputs_.ops, derived_storages,
                                   derived_node));
      }
    }
  }

  void AddSame(const ListedStep& step, const Node& node) {
    Add({.original = node.id,
         .kind = step.kind,
         .kernel_ns = step.kernel_ns,
         .workspace_bytes = step.workspace_bytes,
         .in_place = *step.in_place},
        node.inputs, node.outputs);
  }

  void AddDerived(const Node& node, int32_t output, const Node& derived,
                  InPlaceRule rule) {
    const ValueId value = node.outputs[static_cast<size_t>(output)];
    const DerivedKernel kernel =
        inputs_.derived.empty() ? DerivedKernel() : inputs_.derived[value];
    Add({.original = node.id,
         .derived_output = output,
         .kernel_ns = kernel.ns,
         .workspace_bytes = kernel.workspace_bytes,
         .in_place = std::move(rule)},
        derived.inputs, {value});
  }

  void Add(Remake remake, const std::vector<ValueId>& inputs,
           const std::vector<ValueId>& outputs) {
    const int32_t made = step_of_[remake.original];
    remake.last_legal_step = static_cast<int32_t>(space_.list.steps.size());
    for (const ValueId input : inputs) {
      const Storage& storage = space_.storages.of(input);
      remake.inputs.push_back(SlotOf(input));
      remake.first_legal_step = std::max(
          remake.first_legal_step, step_of_[graph().value(input).producer] + 1);
      if (storage.overwriters.empty()) continue;
      if (!storage.is_resident) return;  // its bytes may be others later
      for (const NodeId overwriter : storage.overwriters) {
        const int32_t step = step_of_[overwriter];
        if (step > made) remake.updates.push_back(step);
      }
    }
    for (const ValueId output : outputs) {
      if (!space_.storages.of(output).can_be_copied()) return;
      remake.outputs.push_back(SlotOf(output));
    }
    std::ranges::sort(remake.updates);
    remake.updates.erase(
        std::unique(remake.updates.begin(), remake.updates.end()),
        remake.updates.end());
    if (!remake.updates.empty()) remake.last_legal_step = remake.updates[0];
    for (const ValueId output : outputs) {
      space_.remake_of[output] = static_cast<int32_t>(space_.remakes.size());
    }
    space_.remakes.push_back(std::move(remake));
  }

  Slot SlotOf(ValueId value) const {
    return {.value = value, .storage = index_of_[space_.storages.id_of(value)]};
  }

  void FindChoices() {
    space_.can_recompute.assign(space_.num_gaps(), 0);
    space_.remake_ns.assign(space_.num_gaps(), 0);
    for (size_t i = 0; i < space_.num_gaps(); ++i) {
      const bool is_tail = space_.IsTail(i);
      const StorageIndex storage =
          is_tail ? static_cast<StorageIndex>(i - space_.model.gaps.size())
                  : space_.model.gaps[i].storage;
      if (storage == kNoStorage) continue;
      const ListedStorage& of =
          space_.list.storages[static_cast<size_t>(storage)];
      const int32_t remake = space_.remake_of[of.root];
      if (remake == kNoRemake || !of.on_device || of.is_fetched) continue;
      const Remake& by = space_.remakes[static_cast<size_t>(remake)];
      if (!is_tail && !by.IsLegalBefore(space_.model.gaps[i].next)) continue;
      space_.can_recompute[i] = 1;
      space_.remake_ns[i] = by.kernel_ns;
    }
  }

  const SpaceInputs& inputs_;
  RecomputeSpace& space_;
  IdMap<NodeId, int32_t> step_of_;           // -1: no step
  IdMap<StorageId, StorageIndex> index_of_;  // in the list
};

}  // namespace

RecomputeSpace MakeRecomputeSpace(const SpaceInputs& inputs) {
  RecomputeSpace space = {.graph = inputs.graph,
                          .ops = inputs.ops,
                          .profile = inputs.profile,
                          .storages = StorageMap::Of(inputs.graph, inputs.ops),
                          .schedule = inputs.schedule};
  space.rules = FindInPlaceRules(inputs.graph, inputs.ops, space.storages);
  space.list = ListOf(inputs.graph, inputs.ops, space.storages, inputs.schedule,
                      inputs.compile, inputs.kernel_ns, space.rules);
  space.model = MakeStepModel(space.list, inputs.profile);
  SpaceMaker(inputs, space).Run();
  return space;
}

std::vector<int64_t> LeastRemakeNs(const RecomputeSpace& space) {
  const auto bytes_of = [&](const Slot& slot) {
    return slot.storage == kNoStorage
               ? 0
               : space.list.storages[static_cast<size_t>(slot.storage)].bytes;
  };
  std::vector<int64_t> least(space.model.gaps.size(), kCannotRemake);
  for (size_t i = 0; i < least.size(); ++i) {
    if (space.can_recompute[i] == 0) continue;
    const auto index = static_cast<size_t>(space.model.gaps[i].storage);
    const ListedStorage& storage = space.list.storages[index];
    const Remake& remake =
        space.remakes[static_cast<size_t>(space.remake_of[storage.root])];
    const auto largest = std::ranges::max_element(remake.outputs, {}, bytes_of);
    least[i] = largest->value == storage.root ? remake.kernel_ns : 0;
  }
  return least;
}

}  // namespace spillway

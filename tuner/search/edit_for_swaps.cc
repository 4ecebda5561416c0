#include "tuner/search/edit_for_swaps.h"

#include <algorithm>
#include <utility>

#include "graph/storage.h"
#include "lms/storage_readers.h"

namespace spillway {
namespace {

class Editor {
 public:
  Editor(const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
         const StepModel& model, const FoundSwaps& found)
      : graph_(graph),
        storages_(StorageMap::Of(graph, ops)),
        schedule_(schedule),
        model_(model),
        found_(found) {
    gaps_of_.resize(model.copies.size());
    for (size_t i = 0; i < found.moved.size(); ++i) {
      if (found.moved[i] == 0) continue;
      gaps_of_[static_cast<size_t>(model.gaps[i].copy_out)].push_back(i);
    }
    after_.resize(model.steps.size());
    before_.resize(model.steps.size());
    step_of_.resize(graph.num_nodes(), -1);
    edit_.expected_ns.resize(graph.num_nodes());
    for (size_t i = 0; i < model.steps.size(); ++i) {
      step_of_[model.steps[i].node] = static_cast<int32_t>(i);
      edit_.expected_ns[model.steps[i].node] = found.played.step_ran_ns[i];
    }
  }

  SwapEdit Run() {
    for (size_t i = 0; i < gaps_of_.size(); ++i) {
      if (!gaps_of_[i].empty()) AddSwap(i);
    }
    AddAliases();
    MakeOrder();
    return std::move(edit_);
  }

 private:
  // The swap-in for nodes that read the bytes of `root` between the steps
  // (after, until) under a name that exists since `after` or before.
  SwapIn SwapInFor(ValueId root, int32_t after, int32_t until) const {
    SwapIn swap_in;
    std::vector<ValueId> names;
    const Storage& storage = storages_.of(root);
    for (const ValueId name : storage.values) {
      if (step_of_[graph_.value(name).producer] > after) continue;
      for (const Use& use : graph_.uses(name)) {
        const int32_t step = step_of_[use.node];
        if (step <= after || step >= until) continue;
        swap_in.readers.push_back(use.node);
        names.push_back(name);
      }
    }
    std::ranges::sort(swap_in.readers);
    swap_in.readers.erase(
        std::unique(swap_in.readers.begin(), swap_in.readers.end()),
        swap_in.readers.end());
    swap_in.aliases = AliasesBetween(graph_, storages_, storage, names);
    return swap_in;
  }

  void AddSwap(size_t copy_out) {
    const CopyOut& copy = model_.copies[copy_out];
    const std::vector<size_t>& gaps = gaps_of_[copy_out];
    Swap swap = {.value = copy.value};
    const Interval& out_ns = found_.played.copy_out_ran_ns[copy_out];
    const NodeId swap_out = NewNode(out_ns);
    after_[static_cast<size_t>(copy.written)].outs.emplace_back(out_ns.begin,
                                                                swap_out);
    for (size_t i = 0; i < gaps.size(); ++i) {
      const Gap& gap = model_.gaps[gaps[i]];
      const int32_t until = i + 1 < gaps.size()
                                ? model_.gaps[gaps[i + 1]].last + 1
                                : static_cast<int32_t>(model_.steps.size());
      const int32_t back_after = found_.played.back_after[gaps[i]];
      SwapIn swap_in = SwapInFor(copy.value, gap.last, until);
      swap_in.triggers = {model_.steps[static_cast<size_t>(back_after)].node};
      aliases_before_.insert(aliases_before_.end(), swap_in.aliases.size(),
                             gap.next);
      swap.swap_ins.push_back(std::move(swap_in));
      after_[static_cast<size_t>(back_after)].ins.emplace_back(
          gap.next, NewNode(found_.played.copy_in_ran_ns[gaps[i]]));
    }
    edit_.swaps.swaps.push_back(std::move(swap));
  }

  // Aliases come after all swaps in the edited graph.
  void AddAliases() {
    for (const int32_t next : aliases_before_) {
      const auto step = static_cast<size_t>(next);
      const int64_t now = found_.played.step_ran_ns[step].begin;
      before_[step].push_back(NewNode({now, now}));
    }
  }

  NodeId NewNode(const Interval& ran_ns) {
    return edit_.expected_ns.push_back(ran_ns);
  }

  void MakeOrder() {
    Schedule& edited = edit_.schedule;
    size_t step = 0;
    for (const NodeId id : schedule_.order) {
      const bool is_step =
          step < model_.steps.size() && model_.steps[step].node == id;
      if (is_step) {
        edited.order.insert(edited.order.end(), before_[step].begin(),
                            before_[step].end());
      }
      edited.order.push_back(id);
      if (!is_step) continue;  // a resident
      Copies& copies = after_[step++];
      std::ranges::sort(copies.outs);
      for (const auto& [begin_ns, swap_out] : copies.outs) {
        edited.order.push_back(swap_out);
      }
      std::ranges::sort(copies.ins);
      for (const auto& [reader, swap_in] : copies.ins) {
        edited.order.push_back(swap_in);
      }
    }
    SetSteps(edit_.expected_ns.size(), edited);
  }

  struct Copies {
    std::vector<std::pair<int64_t, NodeId>> outs = {};  // begin_ns, node
    std::vector<std::pair<int32_t, NodeId>> ins = {};   // first reader, node
  };

  const Graph& graph_;
  const StorageMap storages_;
  const Schedule& schedule_;
  const StepModel& model_;
  const FoundSwaps& found_;
  IdMap<NodeId, int32_t> step_of_;            // -1: no step
  std::vector<std::vector<size_t>> gaps_of_;  // by copy, in time
  std::vector<Copies> after_;                 // by step
  std::vector<std::vector<NodeId>> before_;   // by step: aliases
  // Of each added alias, in the order of the plan: the step.
  std::vector<int32_t> aliases_before_;
  SwapEdit edit_;
};

}  // namespace

SwapEdit EditForSwaps(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const StepModel& model,
                      const FoundSwaps& found) {
  return Editor(graph, ops, schedule, model, found).Run();
}

}  // namespace spillway

#include "lms/drop_cycles.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "graph/traverse.h"

namespace spillway {
namespace {

// Sorts the nodes topologically, swap-ins included: a swap-in waits for the
// producer of its value and for its triggers, its readers wait for it. When
// nothing is ready, it follows from any waiting node what that waits for until
// a node comes again, and drops the swap of a swap-in on this cycle.
class CycleDropper {
 public:
  CycleDropper(const Graph& graph, SwapPlan& plan)
      : graph_(graph),
        plan_(plan),
        is_dropped_(plan.swaps.size(), false),
        waits_behind_(graph.num_nodes()),
        swap_ins_of_(graph.num_nodes()) {
    for (size_t i = 0; i < plan.swaps.size(); ++i) {
      for (const SwapIn& swap_in : plan.swaps[i].swap_ins) {
        AddSwapIn(i, swap_in);
      }
    }
  }

  int Run() {
    CountPredecessors();
    size_t done = 0;
    while (order_.size() < missing_.size()) {
      for (; done < order_.size(); ++done) Finish(order_[done]);
      if (order_.size() < missing_.size()) Drop(FindSwapOnCycle());
    }
    return RemoveDropped();
  }

 private:
  // Places: nodes by id, then swap-ins.
  size_t PlaceOf(size_t swap_in) const { return graph_.num_nodes() + swap_in; }
  bool is_swap_in(size_t place) const { return place >= graph_.num_nodes(); }
  const SwapIn& SwapInAt(size_t place) const {
    return *swap_ins_[place - graph_.num_nodes()];
  }
  size_t SwapAt(size_t place) const {
    return swap_of_[place - graph_.num_nodes()];
  }
  NodeId ProducerAt(size_t place) const {
    return graph_.value(plan_.swaps[SwapAt(place)].value).producer;
  }

  void AddSwapIn(size_t swap, const SwapIn& swap_in) {
    const size_t place = PlaceOf(swap_ins_.size());
    swap_ins_.push_back(&swap_in);
    swap_of_.push_back(swap);
    waits_behind_[ProducerAt(place)].push_back(place);
    for (const NodeId trigger : swap_in.triggers) {
      waits_behind_[trigger].push_back(place);
    }
    for (const NodeId reader : swap_in.readers) {
      swap_ins_of_[reader].push_back(place);
    }
  }

  void CountPredecessors() {
    missing_.assign(PlaceOf(swap_ins_.size()), 0);
    for (const Node& node : graph_.nodes()) {
      missing_[node.id.index()] = node.inputs.size() +
                                  node.control_inputs.size() +
                                  swap_ins_of_[node.id].size();
    }
    for (size_t place = PlaceOf(0); place < missing_.size(); ++place) {
      missing_[place] = 1 + SwapInAt(place).triggers.size();
    }
    for (size_t place = 0; place < missing_.size(); ++place) {
      if (missing_[place] == 0) order_.push_back(place);
    }
  }

  void Arrive(size_t place) {
    if (--missing_[place] == 0) order_.push_back(place);
  }

  void Finish(size_t place) {
    if (is_swap_in(place)) {
      for (const NodeId reader : SwapInAt(place).readers) {
        Arrive(reader.index());
      }
      return;
    }
    ForEachSuccessor(graph_, NodeId(place),
                     [&](NodeId after) { Arrive(after.index()); });
    for (const size_t swap_in : waits_behind_[NodeId(place)]) {
      const bool no_longer_waits = missing_[swap_in] == 0;
      if (!no_longer_waits) Arrive(swap_in);
    }
  }

  // Something unfinished that `place`, which is unfinished, waits for.
  size_t BlockerOf(size_t place) const {
    if (is_swap_in(place)) {
      for (const NodeId trigger : SwapInAt(place).triggers) {
        if (missing_[trigger.index()] > 0) return trigger.index();
      }
      return ProducerAt(place).index();
    }
    for (const size_t swap_in : swap_ins_of_[NodeId(place)]) {
      if (missing_[swap_in] > 0) return swap_in;
    }
    size_t blocker = place;
    ForEachPredecessor(graph_, NodeId(place), [&](NodeId before) {
      if (missing_[before.index()] > 0) blocker = before.index();
    });
    return blocker;
  }

  size_t FindSwapOnCycle() const {
    size_t place = 0;
    while (missing_[place] == 0) ++place;
    std::vector<bool> met(missing_.size(), false);
    for (; !met[place]; place = BlockerOf(place)) met[place] = true;
    // `place` is on the cycle; the graph is acyclic, so a swap-in is on it too.
    while (!is_swap_in(place)) place = BlockerOf(place);
    return SwapAt(place);
  }

  void Drop(size_t swap) {
    is_dropped_[swap] = true;
    for (size_t place = PlaceOf(0); place < missing_.size(); ++place) {
      if (SwapAt(place) != swap || missing_[place] == 0) continue;
      missing_[place] = 0;
      order_.push_back(place);
    }
  }

  int RemoveDropped() {
    std::vector<Swap> kept;
    for (size_t i = 0; i < plan_.swaps.size(); ++i) {
      if (is_dropped_[i]) {
        plan_.dropped.push_back({.value = plan_.swaps[i].value,
                                 .reason = "a trigger would close a cycle"});
      } else {
        kept.push_back(std::move(plan_.swaps[i]));
      }
    }
    const size_t dropped = plan_.swaps.size() - kept.size();
    plan_.swaps = std::move(kept);
    return static_cast<int>(dropped);
  }

  const Graph& graph_;
  SwapPlan& plan_;
  std::vector<bool> is_dropped_;  // by swap
  std::vector<const SwapIn*> swap_ins_;
  std::vector<size_t> swap_of_;                      // by swap-in
  IdMap<NodeId, std::vector<size_t>> waits_behind_;  // places of swap-ins
  IdMap<NodeId, std::vector<size_t>> swap_ins_of_;   // that the node reads
  std::vector<size_t> missing_;  // by place: predecessors that are unfinished
  std::vector<size_t> order_;    // places, as they become ready
};

}  // namespace

int DropCycles(const Graph& graph, SwapPlan& plan) {
  return CycleDropper(graph, plan).Run();
}

}  // namespace spillway

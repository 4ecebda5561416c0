#include "lms/tflms/simulator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/check_unedited.h"
#include "lms/lms.h"
#include "lms/storage_readers.h"
#include "lms/tflms/counted_memory.h"
#include "lms/v2/candidates.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

absl::Status CheckHasNoLoops(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.name.find("while/") == std::string::npos) continue;
    return InvalidArgument(
        fmt::format("{} is in a loop, which TFLMS's simulator does not "
                    "support; give its parameters values",
                    node.name));
  }
  return absl::OkStatus();
}

}  // namespace

LmsOptions WithSet(LmsOptions options, const TflmsSet& set) {
  options.mode = LmsMode::kV2;
  options.v2.swapout_threshold = set.swapout_threshold;
  options.v2.swapin_ahead = set.swapin_ahead;
  options.v2.swapin_groupby = set.swapin_groupby;
  options.v2.sync_mode = set.sync_mode;
  return options;
}

class TflmsSimulator::Step {
 public:
  Step(TflmsSimulator& simulator, const TflmsSet& set)
      : simulator_(simulator),
        graph_(simulator.v2_.graph()),
        levels_(simulator.v2_.levels),
        roles_(simulator.v2_.roles),
        options_(WithSet(simulator.options_, set)),
        device_(graph_.num_values()),
        host_(graph_.num_values()),
        copy_at_(simulator.inputs_.size(), kNoCopy),
        copied_out_(graph_.num_nodes()),
        copies_in_(graph_.num_nodes()) {}

  TflmsPlay Run() {
    FindSwaps();
    for (const std::vector<NodeId>& level : levels_.nodes) {
      for (const NodeId id : level) {
        if (!roles_.is_active[id] || IsTrainable(graph_.node(id))) continue;
        RunNode(id);
      }
    }
    play_.peak_device_bytes = device_.peak_bytes();
    play_.peak_host_bytes = host_.peak_bytes();
    return play_;
  }

 private:
  static constexpr size_t kNoCopy = ~size_t{0};

  struct CopyIn {
    ValueId value = {};
    size_t buffer = 0;
    int64_t num_readers = 0;
  };

  void FindSwaps() {
    std::vector<DroppedCandidate> dropped;
    swaps_ = FindV2Candidates(
        {options_, simulator_.view_, levels_, roles_, simulator_.storages_},
        dropped);
    first_swap_ = IdMap<NodeId, size_t>(graph_.num_nodes(), swaps_.size());
    for (size_t i = swaps_.size(); i-- > 0;) {
      first_swap_[SourceOf(swaps_[i])] = i;
    }
  }

  NodeId SourceOf(const Swap& swap) const {
    return graph_.value(swap.value).producer;
  }
  int64_t BytesOf(ValueId value) const {
    return graph_.type(value).num_bytes();
  }

  void RunNode(NodeId id) {
    now_ = id;
    if (roles_.on_device[id]) {
      TakeInputs(id);
      MakeOutputs(id);
      LeaveInputs(id);
      for (size_t i = first_swap_[id];
           i < swaps_.size() && SourceOf(swaps_[i]) == id; ++i) {
        CopyOut(swaps_[i]);
      }
    }
    for (const ValueId value : copied_out_[id]) {
      if (device_.IsResident(value.index())) device_.Decrease(value.index());
    }
    device_.Release();
    for (const CopyIn& copy : copies_in_[id]) CopyBack(copy);
  }

  // Calls visit(buffer, value) for each input that this step makes.
  template <typename Visit>
  void ForEachInput(NodeId id, Visit visit) const {
    const std::vector<size_t>& first = simulator_.first_input_;
    for (size_t at = first[id.index()]; at < first[id.index() + 1]; ++at) {
      const ValueId value = simulator_.inputs_[at];
      if (!roles_.is_active[graph_.value(value).producer]) continue;
      const size_t copy = copy_at_[at];
      const bool has_copy = copy != kNoCopy && device_.IsResident(copy);
      visit(has_copy ? copy : value.index(), value);
    }
  }

  // An input that is not resident comes from a variable or the host, or is a
  // tensor whose swap-in nothing started.
  void TakeInputs(NodeId id) {
    ForEachInput(id, [&](size_t buffer, ValueId value) {
      if (device_.IsResident(buffer)) return;
      Allocate(buffer, value, simulator_.num_readers_[value]);
    });
  }

  void MakeOutputs(NodeId id) {
    for (const ValueId value : graph_.node(id).outputs) {
      const int64_t readers = simulator_.num_device_readers_[value];
      if (readers > 0) Allocate(value.index(), value, readers);
    }
  }

  void LeaveInputs(NodeId id) {
    ForEachInput(id, [&](size_t buffer, ValueId) { device_.Decrease(buffer); });
  }

  void CopyOut(const Swap& swap) {
    const size_t buffer = swap.value.index();
    for (const SwapIn& swap_in : swap.swap_ins) {
      device_.Decrease(buffer, std::ssize(swap_in.readers));
    }
    if (!SyncsSwapOuts(options_) && device_.count(buffer) > 0) {
      WaitForCopyOut(swap);
    }
    for (const SwapIn& swap_in : swap.swap_ins) PlanCopyIn(swap.value, swap_in);
    host_.Allocate(buffer, BytesOf(swap.value), std::ssize(swap.swap_ins));
    if (host_.used_bytes() >= simulator_.limits_.host_bytes) {
      play_.host_warning = true;
    }
  }

  // The swap-out lasts until the last reader of the device copy has run.
  void WaitForCopyOut(const Swap& swap) {
    NodeId last = SourceOf(swap);
    for (const NodeId reader :
         DirectReaders(graph_, simulator_.storages_, swap)) {
      if (!roles_.is_active[reader]) continue;
      if (levels_.of(reader) > levels_.of(last)) last = reader;
    }
    if (levels_.num_levels() - levels_.of(last) <= 1) return;
    device_.Increase(swap.value.index());
    copied_out_[last].push_back(swap.value);
  }

  void PlanCopyIn(ValueId value, const SwapIn& swap_in) {
    const size_t buffer = device_.AddBuffer();
    for (const NodeId reader : swap_in.readers) {
      copy_at_[PlaceOf(value, reader)] = buffer;
    }
    const NodeId start = FindStart(graph_.value(value).producer,
                                   EarliestReader(swap_in, levels_));
    if (!start.is_valid()) return;
    copies_in_[start].push_back({.value = value,
                                 .buffer = buffer,
                                 .num_readers = std::ssize(swap_in.readers)});
  }

  // The node that starts a swap-in: a trigger, or the last producer of another
  // input of the reader; it may have run already. (If there is no such
  // producer, the original looks for a trigger with ahead 1, which always
  // fails: all data that such a reader gets comes from the source.)
  NodeId FindStart(NodeId source, NodeId reader) {
    if (!SyncsSwapIns(options_)) {
      const NodeId trigger =
          simulator_.FindTrigger(options_.v2.swapin_ahead, source, reader);
      if (trigger.is_valid()) return trigger;
      ++play_.missing_triggers;
    }
    NodeId last;
    for (const ValueId input : graph_.node(reader).inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (producer == source) continue;
      if (!last.is_valid() || IsLater(producer, last)) last = producer;
    }
    return last;
  }

  // Whether a has a higher level than b, or the same level and a lower id.
  bool IsLater(NodeId a, NodeId b) const {
    return std::pair(levels_.of(a), b) > std::pair(levels_.of(b), a);
  }

  // Index in inputs_ at which `reader` reads `value`.
  size_t PlaceOf(ValueId value, NodeId reader) const {
    const std::vector<size_t>& first = simulator_.first_input_;
    const auto begin = simulator_.inputs_.begin();
    const auto found = std::lower_bound(
        begin + static_cast<ptrdiff_t>(first[reader.index()]),
        begin + static_cast<ptrdiff_t>(first[reader.index() + 1]), value);
    return static_cast<size_t>(found - begin);
  }

  void CopyBack(const CopyIn& copy) {
    Allocate(copy.buffer, copy.value, copy.num_readers);
    host_.Decrease(copy.value.index());
    host_.Release();
  }

  void Allocate(size_t buffer, ValueId value, int64_t count) {
    device_.Allocate(buffer, BytesOf(value), count);
    if (!play_.passed || device_.used_bytes() < simulator_.capacity_bytes_) {
      return;
    }
    play_.passed = false;
    play_.failed_node = now_;
    play_.failed_value = value;
  }

  TflmsSimulator& simulator_;
  const Graph& graph_;
  const V2Levels& levels_;
  const V2Roles& roles_;
  const LmsOptions options_;
  std::vector<Swap> swaps_;
  IdMap<NodeId, size_t> first_swap_;
  // The device's buffers are the values, by id, then the swapped-in copies.
  CountedMemory device_;
  CountedMemory host_;
  std::vector<size_t> copy_at_;  // buffer to read instead, by index in inputs_
  IdMap<NodeId, std::vector<ValueId>> copied_out_;  // by the last reader
  IdMap<NodeId, std::vector<CopyIn>> copies_in_;    // by starting node
  NodeId now_;                                      // the node that runs
  TflmsPlay play_;
};

TflmsSimulator::AheadSearch::AheadSearch(int64_t ahead,
                                         const TflmsSimulator& simulator)
    : options(WithSet(simulator.options_, {.swapin_ahead = ahead})),
      search({options, simulator.view_, simulator.v2_.levels,
              simulator.v2_.roles, simulator.storages_}) {}

absl::StatusOr<std::unique_ptr<TflmsSimulator>> TflmsSimulator::Create(
    const LmsOptions& options, const TflmsLimits& limits, const Graph& graph) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t capacity_bytes,
                            CapacityBytes(limits, graph));
  const LmsOptions checked = WithSet(options, {});
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(checked));
  SPILLWAY_RETURN_IF_ERROR(CheckIsUnedited(graph));
  SPILLWAY_RETURN_IF_ERROR(CheckHasNoLoops(graph));
  SPILLWAY_ASSIGN_OR_RETURN(V2Graph v2, MakeV2Graph(checked, graph));
  return std::unique_ptr<TflmsSimulator>(
      new TflmsSimulator(checked, limits, capacity_bytes, std::move(v2)));
}

TflmsSimulator::TflmsSimulator(const LmsOptions& options,
                               const TflmsLimits& limits,
                               int64_t capacity_bytes, V2Graph v2)
    : options_(options),
      limits_(limits),
      v2_(std::move(v2)),
      view_(v2_.graph()),
      storages_(StorageMap::WithoutAliases(v2_.graph())),
      capacity_bytes_(capacity_bytes),
      num_readers_(v2_.graph().num_values(), 0),
      num_device_readers_(v2_.graph().num_values(), 0) {
  for (const Node& node : v2_.graph().nodes()) {
    std::vector<ValueId> inputs = node.inputs;
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    first_input_.push_back(inputs_.size());
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    for (const ValueId input : inputs) {
      ++num_readers_[input];
      if (v2_.roles.on_device[node.id]) ++num_device_readers_[input];
    }
  }
  first_input_.push_back(inputs_.size());
}

TflmsPlay TflmsSimulator::Play(const TflmsSet& set) {
  return Step(*this, set).Run();
}

NodeId TflmsSimulator::FindTrigger(int64_t ahead, NodeId source,
                                   NodeId reader) {
  const auto [found, is_new] = searches_.try_emplace(ahead, ahead, *this);
  return found->second.search.Find(source, reader);
}

}  // namespace spillway

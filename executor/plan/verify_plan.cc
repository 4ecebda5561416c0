#include "executor/plan/verify_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "base/status_macros.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/verify_steps.h"
#include "fmt/format.h"
#include "graph/input_groups.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Verifier {
 public:
  Verifier(const ExecutionPlan& plan, const Graph& graph, const OpRegistry& ops)
      : plan_(plan),
        graph_(graph),
        ops_(ops),
        is_fetched_(plan.buffers.size(), false) {
    for (const ValueId value : plan.fetches) {
      const BufferId buffer = plan.buffer_of[value];
      if (buffer.is_valid()) is_fetched_[buffer] = true;
    }
  }

  absl::Status Run() {
    step_of_.resize(graph_.num_nodes());
    for (const StepId step : plan_.steps.ids()) {
      step_of_[plan_.steps[step].node] = step;
    }
    SPILLWAY_RETURN_IF_ERROR(BuildOrder());
    SPILLWAY_RETURN_IF_ERROR(CheckPlacement());
    CollectUses();
    SPILLWAY_RETURN_IF_ERROR(CheckDependencies());
    SPILLWAY_RETURN_IF_ERROR(CheckOverlaps());
    SPILLWAY_RETURN_IF_ERROR(CheckOverwrites());
    return CheckFetches();
  }

 private:
  // Steps of one lane run in order, so the first and last step of each lane
  // represent all of them.
  struct BufferUses {
    std::array<StepId, kNumLanes> first = {};
    std::array<StepId, kNumLanes> last = {};
    std::vector<StepId> reads = {};   // in the order of the steps
    std::vector<StepId> writes = {};  // steps that change the bytes
  };

  std::string Name(StepId id) const {
    return fmt::format("step {} ({})", id.value(),
                       graph_.node(plan_.steps[id].node).name);
  }

  // Whether `a` is certainly done before `b` starts.
  bool Before(StepId a, StepId b) const {
    const auto lane = static_cast<size_t>(plan_.steps[a].lane);
    return position_[a.index()] < known_[b.index()][lane];
  }

  // known_[s][lane]: how many steps of `lane` are certainly done when s starts.
  absl::Status BuildOrder() {
    std::array<std::vector<StepId>, kNumLanes> lanes;
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      std::vector<StepId>& lane = lanes[static_cast<size_t>(step.lane)];
      std::array<size_t, kNumLanes> known{};
      if (!lane.empty()) known = KnownAfter(lane.back());
      for (const StepId wait : step.waits) {
        if (!wait.is_valid() || wait >= id) {
          return Internal(fmt::format(
              "{} waits for a step that is not before it", Name(id)));
        }
        const auto other = KnownAfter(wait);
        for (size_t k = 0; k < known.size(); ++k) {
          known[k] = std::max(known[k], other[k]);
        }
      }
      position_.push_back(lane.size());
      known_.push_back(known);
      lane.push_back(id);
    }
    return absl::OkStatus();
  }

  std::array<size_t, kNumLanes> KnownAfter(StepId id) const {
    std::array<size_t, kNumLanes> known = known_[id.index()];
    size_t& own = known[static_cast<size_t>(plan_.steps[id].lane)];
    own = std::max(own, position_[id.index()] + 1);
    return known;
  }

  // A buffer is inside its space, and above its residents unless it is one.
  absl::Status CheckPlacement() const {
    for (const Buffer& buffer : plan_.buffers) {
      const int64_t limit = buffer.space == Space::kDevice ? plan_.device_bytes
                                                           : plan_.host_bytes;
      const int64_t resident = ResidentBytes(plan_, buffer.space);
      const int64_t base = IsResident(buffer) ? 0 : resident;
      const int64_t end = IsResident(buffer) ? resident : limit;
      if (buffer.offset < base || buffer.offset % kBufferAlignment != 0 ||
          buffer.offset + buffer.bytes > std::min(end, limit)) {
        return Internal(fmt::format(
            "{} at {} with {} bytes is not inside its {} to {}", buffer.name,
            buffer.offset, buffer.bytes, base, std::min(end, limit)));
      }
    }
    return absl::OkStatus();
  }

  void CollectUses() {
    uses_.resize(plan_.buffers.size());
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      for (const BufferId input : step.inputs) {
        AddUse(id, input);
        uses_[input].reads.push_back(id);
      }
      for (const BufferId output : step.outputs) AddUse(id, output);
      if (step.workspace.is_valid()) AddUse(id, step.workspace);
      for (const BufferId written : Overwritten(step)) {
        uses_[written].writes.push_back(id);
      }
    }
  }

  void AddUse(StepId id, BufferId buffer) {
    const auto lane = static_cast<size_t>(plan_.steps[id].lane);
    BufferUses& uses = uses_[buffer];
    if (!uses.first[lane].is_valid()) uses.first[lane] = id;
    uses.last[lane] = id;
  }

  // Every step runs after the steps that it needs; every needed node is a step.
  absl::Status CheckDependencies() const {
    for (const ValueId value : plan_.fetches) {
      const Node& node = graph_.producer(value);
      if (step_of_[node.id].is_valid() || IsResidentNode(node, ops_)) continue;
      return Internal(fmt::format("{} is fetched, but is not in the plan",
                                  graph_.ValueName(value)));
    }
    for (const StepId id : plan_.steps.ids()) {
      const Node& node = graph_.node(plan_.steps[id].node);
      std::vector<NodeId> needed = node.control_inputs;
      for (const ValueId input : node.inputs) {
        needed.push_back(graph_.value(input).producer);
      }
      for (const NodeId before : needed) {
        const StepId step = step_of_[before];
        if (!step.is_valid()) {
          if (IsResidentNode(graph_.node(before), ops_)) continue;
          if (HasNoStep(graph_, graph_.node(before), plan_.fetches)) continue;
          return Internal(fmt::format("{} needs {}, which is not in the plan",
                                      Name(id), graph_.node(before).name));
        }
        if (!Before(step, id)) {
          return Internal(fmt::format("{} may start before {} is done",
                                      Name(id), Name(step)));
        }
      }
    }
    return absl::OkStatus();
  }

  // If two buffers share bytes, all uses of one come before the first use of
  // the other. In the order of first uses, a buffer is compared only with the
  // last owners of its bytes: "all uses before all uses" is transitive.
  absl::Status CheckOverlaps() const {
    std::vector<BufferId> order;
    for (const BufferId id : plan_.buffers.ids()) {
      if (!IsResident(plan_.buffers[id])) order.push_back(id);
    }
    std::ranges::stable_sort(order, {},
                             [&](BufferId id) { return FirstUse(id); });
    std::array<OwnerMap, 2> owners;  // by space
    for (const BufferId id : order) {
      const Buffer& buffer = plan_.buffers[id];
      if (buffer.bytes == 0 || !FirstUse(id).is_valid()) continue;
      SPILLWAY_RETURN_IF_ERROR(
          TakeBytes(id, owners[static_cast<size_t>(buffer.space)]));
    }
    return CheckResidentsAreApart();
  }

  // Ranges of bytes by their beginning: their end and their last owner.
  struct Owned {
    int64_t end = 0;
    BufferId owner = {};
  };
  using OwnerMap = std::map<int64_t, Owned>;

  absl::Status TakeBytes(BufferId id, OwnerMap& owners) const {
    const int64_t begin = plan_.buffers[id].offset;
    const int64_t end = begin + plan_.buffers[id].bytes;
    auto at = owners.upper_bound(begin);
    if (at != owners.begin()) --at;
    while (at != owners.end() && at->first < end) {
      const auto [first, owned] = *at;
      if (owned.end <= begin) {
        ++at;
        continue;
      }
      if (!AllBefore(owned.owner, id)) {
        return Internal(fmt::format("{} and {} share bytes but are not ordered",
                                    plan_.buffers[owned.owner].name,
                                    plan_.buffers[id].name));
      }
      at = owners.erase(at);
      if (first < begin) owners.emplace(first, Owned{begin, owned.owner});
      if (owned.end > end) owners.emplace(end, owned);
    }
    owners.emplace(begin, Owned{end, id});
    return absl::OkStatus();
  }

  // Invalid for a buffer that no step uses.
  StepId FirstUse(BufferId id) const {
    StepId first;
    for (const StepId use : uses_[id].first) {
      if (use.is_valid() && (!first.is_valid() || use < first)) first = use;
    }
    return first;
  }

  bool AllBefore(BufferId first, BufferId second) const {
    if (is_fetched_[first]) return false;  // needed after the last step
    for (const StepId last : uses_[first].last) {
      for (const StepId next : uses_[second].first) {
        if (last.is_valid() && next.is_valid() && !Before(last, next)) {
          return false;
        }
      }
    }
    return true;
  }

  absl::Status CheckResidentsAreApart() const {
    std::vector<BufferId> residents;
    for (const BufferId id : plan_.buffers.ids()) {
      if (IsResident(plan_.buffers[id])) residents.push_back(id);
    }
    std::ranges::sort(residents, {}, [&](BufferId id) {
      return std::pair(plan_.buffers[id].space, plan_.buffers[id].offset);
    });
    for (size_t i = 1; i < residents.size(); ++i) {
      const Buffer& a = plan_.buffers[residents[i - 1]];
      const Buffer& b = plan_.buffers[residents[i]];
      if (a.space == b.space && a.offset + a.bytes > b.offset) {
        return Internal(
            fmt::format("residents {} and {} share bytes", a.name, b.name));
      }
    }
    return absl::OkStatus();
  }

  // Within one buffer: steps that change the bytes (the producer, nodes that
  // compute in place, a variable's updates) run one after another, and a step
  // that reads a value runs while the bytes hold it.
  absl::Status CheckOverwrites() const {
    for (const BufferId buffer : plan_.buffers.ids()) {
      SPILLWAY_RETURN_IF_ERROR(CheckWrites(buffer));
    }
    for (const StepId step : plan_.steps.ids()) {
      SPILLWAY_RETURN_IF_ERROR(CheckReads(step));
    }
    return absl::OkStatus();
  }

  // No step after its producer overwrites a fetched value. (An op that mutates
  // its input by definition may: the fetch returns the changed value.)
  absl::Status CheckFetches() const {
    for (const ValueId value : plan_.fetches) {
      const BufferId buffer = plan_.buffer_of[value];
      const StepId producer = step_of_[graph_.value(value).producer];
      for (const StepId write : uses_[buffer].writes) {
        if (!producer.is_valid() || write <= producer ||
            Mutates(plan_.steps[write], buffer)) {
          continue;
        }
        return Internal(fmt::format("{} is fetched after {} overwrote it",
                                    graph_.ValueName(value), Name(write)));
      }
    }
    return absl::OkStatus();
  }

  bool Mutates(const Step& step, BufferId buffer) const {
    const OpDef* def = ops_.Find(graph_.node(step.node).op);
    if (def == nullptr) return false;
    return std::ranges::any_of(
        MutatedInputs(*def, step.inputs.size()), [&](int input) {
          return step.inputs[static_cast<size_t>(input)] == buffer;
        });
  }

  absl::Status CheckWrites(BufferId buffer) const {
    const std::vector<StepId>& writes = uses_[buffer].writes;
    for (size_t i = 1; i < writes.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(CheckOrdered(writes[i - 1], writes[i], buffer));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReads(StepId reader) const {
    const Step& step = plan_.steps[reader];
    const std::vector<ValueId>& inputs = graph_.node(step.node).inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) {  // a feed reads none
      SPILLWAY_RETURN_IF_ERROR(CheckRead(reader, inputs[i], step.inputs[i]));
    }
    return absl::OkStatus();
  }

  // The writes are ordered, so only those next to the read matter.
  absl::Status CheckRead(StepId reader, ValueId value, BufferId buffer) const {
    const std::vector<StepId>& writes = uses_[buffer].writes;
    const auto after = std::ranges::upper_bound(writes, reader);
    if (after != writes.end()) {
      SPILLWAY_RETURN_IF_ERROR(CheckOrdered(reader, *after, buffer));
    }
    auto before = std::ranges::lower_bound(writes, reader);
    if (before == writes.begin()) return absl::OkStatus();
    const StepId written = *--before;
    SPILLWAY_RETURN_IF_ERROR(CheckOrdered(written, reader, buffer));
    const StepId producer = step_of_[graph_.value(value).producer];
    if (!producer.is_valid() || written <= producer) return absl::OkStatus();
    return Internal(fmt::format("{} reads {} after {} overwrote it",
                                Name(reader), graph_.ValueName(value),
                                Name(written)));
  }

  absl::Status CheckOrdered(StepId first, StepId second,
                            BufferId buffer) const {
    if (Before(first, second)) return absl::OkStatus();
    return Internal(fmt::format("{} and {} use {} without an order",
                                Name(first), Name(second),
                                plan_.buffers[buffer].name));
  }

  // Buffers whose earlier contents the step overwrites.
  std::vector<BufferId> Overwritten(const Step& step) const {
    std::vector<BufferId> written;
    if (step.workspace.is_valid()) written.push_back(step.workspace);
    if (step.kind == StepKind::kAlias) return written;
    written.insert(written.end(), step.outputs.begin(), step.outputs.end());
    if (const OpDef* def = ops_.Find(graph_.node(step.node).op)) {
      for (const int input : MutatedInputs(*def, step.inputs.size())) {
        written.push_back(step.inputs[static_cast<size_t>(input)]);
      }
    }
    std::ranges::sort(written);
    written.erase(std::unique(written.begin(), written.end()), written.end());
    return written;
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const OpRegistry& ops_;
  IdMap<BufferId, bool> is_fetched_;
  IdMap<NodeId, StepId> step_of_;
  std::vector<size_t> position_;  // of a step in its lane
  std::vector<std::array<size_t, kNumLanes>> known_;
  IdMap<BufferId, BufferUses> uses_;
};

}  // namespace

absl::Status VerifyPlan(const ExecutionPlan& plan, const Graph& graph,
                        const OpRegistry& ops,
                        const IdMap<NodeId, int64_t>* workspace_bytes) {
  SPILLWAY_RETURN_IF_ERROR(VerifySteps(plan, graph, ops, workspace_bytes));
  return Verifier(plan, graph, ops).Run();
}

}  // namespace spillway

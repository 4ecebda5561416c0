#include "executor/plan/verify_plan.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "base/status_macros.h"
#include "executor/plan/assign_buffers.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Verifier {
 public:
  Verifier(const ExecutionPlan& plan, const Graph& graph, const OpRegistry& ops)
      : plan_(plan), graph_(graph), ops_(ops) {}

  absl::Status Run() {
    RETURN_IF_ERROR(CheckSteps());
    RETURN_IF_ERROR(BuildOrder());
    RETURN_IF_ERROR(CheckPlacement());
    CollectUses();
    RETURN_IF_ERROR(CheckDependencies());
    RETURN_IF_ERROR(CheckOverlaps());
    return CheckOverwrites();
  }

 private:
  struct BufferUses {
    std::vector<StepId> reads;
    std::vector<StepId> writes;
  };

  std::string Name(StepId id) const {
    return fmt::format("step {} ({})", id.value(),
                       graph_.node(plan_.steps[id].node).name);
  }

  bool IsResident(BufferId id) const {
    const BufferKind kind = plan_.buffers[id].kind;
    return kind == BufferKind::kVariable || kind == BufferKind::kConstant;
  }

  // True if `a` is surely done before `b` starts.
  bool Before(StepId a, StepId b) const {
    const auto lane = static_cast<size_t>(plan_.steps[a].lane);
    return position_[a.index()] < known_[b.index()][lane];
  }

  // Slots hold the buffers of the node's values, in the right space and size.
  absl::Status CheckSteps() {
    step_of_.resize(graph_.num_nodes());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const StepId id(i);
      const Step& step = plan_.steps[id];
      const Node& node = graph_.node(step.node);
      if (step_of_[step.node].is_valid()) {
        return Internal(fmt::format("{} runs twice", node.name));
      }
      step_of_[step.node] = id;
      RETURN_IF_ERROR(CheckSlots(id, node.inputs, step.inputs));
      RETURN_IF_ERROR(CheckSlots(id, node.outputs, step.outputs));
      for (const ValueId output : node.outputs) {
        const Buffer& buffer = plan_.buffers[plan_.buffer_of[output]];
        if (buffer.space != OutputSpace(node)) {
          return Internal(fmt::format("{} is in the wrong memory space",
                                      graph_.ValueName(output)));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckSlots(StepId id, const std::vector<ValueId>& values,
                          const std::vector<BufferId>& buffers) const {
    if (values.size() != buffers.size()) {
      return Internal(fmt::format("{} has {} slots for {} values", Name(id),
                                  buffers.size(), values.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const BufferId buffer = plan_.buffer_of[values[i]];
      if (!buffer.is_valid() || buffer != buffers[i]) {
        return Internal(fmt::format("{} uses another buffer than that of {}",
                                    Name(id), graph_.ValueName(values[i])));
      }
      if (plan_.buffers[buffer].bytes != graph_.type(values[i]).num_bytes()) {
        return Internal(fmt::format("the buffer of {} has {} bytes, not {}",
                                    graph_.ValueName(values[i]),
                                    plan_.buffers[buffer].bytes,
                                    graph_.type(values[i]).num_bytes()));
      }
    }
    return absl::OkStatus();
  }

  // known_[s][lane]: how many steps of `lane` are surely done when s starts.
  absl::Status BuildOrder() {
    std::array<std::vector<StepId>, kNumLanes> lanes;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const StepId id(i);
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

  absl::Status CheckPlacement() const {
    for (const Buffer& buffer : plan_.buffers) {
      const int64_t limit = buffer.space == Space::kDevice ? plan_.device_bytes
                                                           : plan_.host_bytes;
      if (buffer.offset < 0 || buffer.offset % kBufferAlignment != 0 ||
          buffer.offset + buffer.bytes > limit) {
        return Internal(
            fmt::format("{} at {} with {} bytes is not inside its {}",
                        buffer.name, buffer.offset, buffer.bytes, limit));
      }
    }
    return absl::OkStatus();
  }

  void CollectUses() {
    uses_.resize(plan_.buffers.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const StepId id(i);
      const Step& step = plan_.steps[id];
      for (const BufferId input : step.inputs) uses_[input].reads.push_back(id);
      for (const BufferId output : step.outputs) {
        uses_[output].writes.push_back(id);
      }
      if (step.workspace.is_valid()) uses_[step.workspace].writes.push_back(id);
    }
  }

  // Every step runs after what it needs; every needed node is a step.
  absl::Status CheckDependencies() const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const StepId id(i);
      const Node& node = graph_.node(plan_.steps[id].node);
      std::vector<NodeId> needed = node.control_inputs;
      for (const ValueId input : node.inputs) {
        needed.push_back(graph_.value(input).producer);
      }
      for (const NodeId before : needed) {
        const StepId step = step_of_[before];
        if (!step.is_valid()) {
          const OpDef* def = ops_.Find(graph_.node(before).op);
          if (def != nullptr && def->resident) continue;
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

  // Buffers that share bytes: all uses of one before the first of the other.
  absl::Status CheckOverlaps() const {
    std::vector<BufferId> order;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) order.emplace_back(i);
    std::ranges::stable_sort(order, {}, [&](BufferId id) {
      return std::pair(plan_.buffers[id].space, plan_.buffers[id].offset);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const Buffer& a = plan_.buffers[order[i]];
      for (size_t j = i + 1; j < order.size(); ++j) {
        const Buffer& b = plan_.buffers[order[j]];
        if (b.space != a.space || b.offset >= a.offset + a.bytes) break;
        if (IsResident(order[i]) || IsResident(order[j]) ||
            (!AllBefore(order[i], order[j]) &&
             !AllBefore(order[j], order[i]))) {
          return Internal(fmt::format(
              "{} and {} share bytes but are not ordered", a.name, b.name));
        }
      }
    }
    return absl::OkStatus();
  }

  bool IsFetched(BufferId id) const {
    return std::ranges::any_of(plan_.fetches, [&](ValueId value) {
      return plan_.buffer_of[value] == id;
    });
  }

  bool AllBefore(BufferId first, BufferId second) const {
    if (IsFetched(first)) return false;  // needed after the last step
    const BufferUses& a = uses_[first];
    const BufferUses& b = uses_[second];
    const auto before_all_of_b = [&](StepId use) {
      const auto later = [&](StepId other) { return Before(use, other); };
      return std::ranges::all_of(b.reads, later) &&
             std::ranges::all_of(b.writes, later);
    };
    return std::ranges::all_of(a.reads, before_all_of_b) &&
           std::ranges::all_of(a.writes, before_all_of_b);
  }

  // Within one buffer: whoever reads a value does so before a later node
  // overwrites it (in place, or a variable's update).
  absl::Status CheckOverwrites() const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const StepId id(i);
      for (const BufferId written : Overwritten(plan_.steps[id])) {
        RETURN_IF_ERROR(CheckReadersAreOrdered(id, written));
      }
      RETURN_IF_ERROR(CheckReadsCurrentValue(id));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReadersAreOrdered(StepId writer, BufferId buffer) const {
    for (const StepId reader : uses_[buffer].reads) {
      if (reader == writer || Before(reader, writer) ||
          Before(writer, reader)) {
        continue;
      }
      return Internal(fmt::format("{} overwrites {} while {} may read it",
                                  Name(writer), plan_.buffers[buffer].name,
                                  Name(reader)));
    }
    return absl::OkStatus();
  }

  // Buffers whose earlier contents the step destroys.
  std::vector<BufferId> Overwritten(const Step& step) const {
    std::vector<BufferId> written;
    if (step.kind == StepKind::kAlias) return written;
    const OpDef* def = ops_.Find(graph_.node(step.node).op);
    if (def != nullptr) {
      for (const int input : def->mutates) {
        written.push_back(step.inputs[static_cast<size_t>(input)]);
      }
    }
    written.insert(written.end(), step.outputs.begin(), step.outputs.end());
    return written;
  }

  // No other value's producer writes the bytes between a value and its reader.
  absl::Status CheckReadsCurrentValue(StepId reader) const {
    const Node& node = graph_.node(plan_.steps[reader].node);
    for (const ValueId input : node.inputs) {
      const StepId producer = step_of_[graph_.value(input).producer];
      if (!producer.is_valid()) continue;  // resident
      for (const StepId other : uses_[plan_.buffer_of[input]].writes) {
        if (other == producer || other == reader ||
            plan_.steps[other].kind == StepKind::kAlias) {
          continue;
        }
        if (Before(producer, other) && Before(other, reader)) {
          return Internal(fmt::format("{} reads {} after {} overwrote it",
                                      Name(reader), graph_.ValueName(input),
                                      Name(other)));
        }
      }
    }
    return absl::OkStatus();
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const OpRegistry& ops_;
  IdMap<NodeId, StepId> step_of_;
  std::vector<size_t> position_;  // of a step in its lane
  std::vector<std::array<size_t, kNumLanes>> known_;
  IdMap<BufferId, BufferUses> uses_;
};

}  // namespace

absl::Status VerifyPlan(const ExecutionPlan& plan, const Graph& graph,
                        const OpRegistry& ops) {
  return Verifier(plan, graph, ops).Run();
}

}  // namespace spillway

#include "executor/plan/verify_steps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "executor/plan/assign_buffers.h"
#include "fmt/format.h"
#include "graph/input_groups.h"
#include "graph/parts.h"
#include "graph/storage.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

bool HasPair(const std::vector<BufferPair>& pairs, size_t output) {
  return std::ranges::any_of(pairs, [&](const BufferPair& pair) {
    return static_cast<size_t>(pair.output) == output;
  });
}

// Whether the output has the bytes of an input that it is paired with.
bool TakesOver(const std::vector<BufferPair>& pairs, const Step& step,
               size_t output) {
  return std::ranges::any_of(pairs, [&](const BufferPair& pair) {
    const auto input = static_cast<size_t>(pair.input);
    return static_cast<size_t>(pair.output) == output &&
           input < step.inputs.size() &&
           step.inputs[input] == step.outputs[output];
  });
}

// The Placeholder's output that the node copies from the caller: its own, or
// the one that a SwapIn brings back from a SwapOut without a step. Invalid: the
// node copies no feed.
ValueId ExpectedFeed(const Graph& graph, const Node& node,
                     std::span<const ValueId> fetches) {
  if (node.op == kPlaceholder) return graph.output(node.id);
  if (node.op != kSwapIn || node.inputs.size() != 1) return {};
  const Node& swap_out = graph.producer(node.inputs[0]);
  return HasNoStep(graph, swap_out, fetches) ? swap_out.inputs[0] : ValueId();
}

StepKind ExpectedKind(ValueId feed, const Node& node, const OpDef* def) {
  if (feed.is_valid()) return StepKind::kFeed;
  if (CopiesToHost(node.op)) return StepKind::kSwapOut;
  if (CopiesToDevice(node.op)) return StepKind::kSwapIn;
  if (def == nullptr || !def->mutates.empty() || node.outputs.empty()) {
    return StepKind::kCompute;
  }
  const std::vector<BufferPair> aliases = AliasesOf(*def, node.inputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!HasPair(aliases, i)) return StepKind::kCompute;
  }
  return StepKind::kAlias;
}

bool IsOnLane(StepKind kind, const Node& node, Lane lane) {
  const bool is_shared = IsCollective(node.op);
  const bool runs = !IsCopy(kind) && !is_shared;
  switch (lane) {
    case Lane::kCompute:
      return runs && node.placement == Placement::kDevice;
    case Lane::kHost:
      return runs && node.placement == Placement::kHost;
    case Lane::kCommunication:
      return is_shared;
    case Lane::kCopyOut:
      return kind == StepKind::kSwapOut;
    case Lane::kCopyIn:
      return kind == StepKind::kSwapIn || kind == StepKind::kFeed;
  }
  return false;  // not a valid lane
}

class StepVerifier {
 public:
  StepVerifier(const ExecutionPlan& plan, const Graph& graph,
               const OpRegistry& ops,
               const IdMap<NodeId, int64_t>* workspace_bytes)
      : plan_(plan),
        graph_(graph),
        ops_(ops),
        workspace_bytes_(workspace_bytes),
        runs_(graph.num_nodes(), false) {}

  absl::Status Run() {
    SPILLWAY_RETURN_IF_ERROR(CheckIds());
    SPILLWAY_RETURN_IF_ERROR(CheckResidents());
    for (const StepId step : plan_.steps.ids()) {
      SPILLWAY_RETURN_IF_ERROR(CheckStep(step));
    }
    return absl::OkStatus();
  }

 private:
  std::string Name(StepId id) const {
    return fmt::format("step {} ({})", id.value(),
                       graph_.node(plan_.steps[id].node).name);
  }

  bool Exists(BufferId id) const {
    return id.is_valid() && id.index() < plan_.buffers.size();
  }

  // All ids that the other checks look up are in range.
  absl::Status CheckIds() const {
    if (plan_.buffer_of.size() != graph_.num_values()) {
      return Internal(fmt::format("the plan knows {} values, the graph has {}",
                                  plan_.buffer_of.size(), graph_.num_values()));
    }
    for (const BufferId buffer : plan_.buffer_of) {
      if (buffer.is_valid() && !Exists(buffer)) {
        return Internal(fmt::format("a value has buffer {} of {}",
                                    buffer.value(), plan_.buffers.size()));
      }
    }
    for (const ValueId fetch : plan_.fetches) {
      const bool exists =
          fetch.is_valid() && fetch.index() < graph_.num_values();
      if (!exists || !plan_.buffer_of[fetch].is_valid()) {
        return Internal(
            fmt::format("value {} is fetched, but is not in the "
                        "plan",
                        fetch.value()));
      }
    }
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      const bool has_node =
          step.node.is_valid() && step.node.index() < graph_.num_nodes();
      const auto exists = [&](BufferId id) { return Exists(id); };
      if (!has_node || !std::ranges::all_of(step.inputs, exists) ||
          !std::ranges::all_of(step.outputs, exists) ||
          (step.workspace.is_valid() && !Exists(step.workspace))) {
        return Internal(fmt::format(
            "step {} has a node or a buffer that is not there", id.value()));
      }
    }
    return absl::OkStatus();
  }

  // The bytes of each Variable and constant belong to it alone and are of its
  // kind.
  absl::Status CheckResidents() const {
    IdMap<BufferId, NodeId> owner(plan_.buffers.size());
    for (const Node& node : graph_.nodes()) {
      if (!IsResidentNode(node, ops_)) continue;
      const BufferKind kind =
          node.op == kVariable ? BufferKind::kVariable : BufferKind::kConstant;
      for (const ValueId output : node.outputs) {
        const BufferId id = plan_.buffer_of[output];
        if (!id.is_valid()) continue;
        const Buffer& buffer = plan_.buffers[id];
        if (buffer.kind != kind || buffer.space != OutputSpace(node)) {
          return Internal(fmt::format(
              "{} is resident, but its buffer is not of that kind", node.name));
        }
        if (buffer.bytes != graph_.type(output).num_bytes()) {
          return Internal(fmt::format("the buffer of {} has {} bytes, not {}",
                                      graph_.ValueName(output), buffer.bytes,
                                      graph_.type(output).num_bytes()));
        }
        if (owner[id].is_valid()) {
          return Internal(fmt::format("{} and {} have the same buffer",
                                      graph_.node(owner[id]).name, node.name));
        }
        owner[id] = node.id;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckStep(StepId id) {
    const Step& step = plan_.steps[id];
    const Node& node = graph_.node(step.node);
    if (runs_[step.node]) {
      return Internal(fmt::format("{} runs twice", node.name));
    }
    runs_[step.node] = true;
    const ValueId feed = ExpectedFeed(graph_, node, plan_.fetches);
    SPILLWAY_RETURN_IF_ERROR(CheckKind(id, feed));
    SPILLWAY_RETURN_IF_ERROR(CheckFeed(id, feed));
    const bool is_fed = step.kind == StepKind::kFeed;
    SPILLWAY_RETURN_IF_ERROR(CheckSlots(
        id, is_fed ? std::vector<ValueId>() : node.inputs, step.inputs));
    SPILLWAY_RETURN_IF_ERROR(CheckSlots(id, node.outputs, step.outputs));
    SPILLWAY_RETURN_IF_ERROR(CheckSharing(id));
    SPILLWAY_RETURN_IF_ERROR(CheckConstants(id));
    SPILLWAY_RETURN_IF_ERROR(CheckScratch(id));
    // Ops that are not registered can be planned without the copies they need.
    if (!is_fed && ops_.Find(node.op) != nullptr) {
      SPILLWAY_RETURN_IF_ERROR(CheckSpace(id, node.inputs, InputSpace(node)));
    }
    return CheckSpace(id, node.outputs, OutputSpace(node));
  }

  absl::Status CheckSpace(StepId id, const std::vector<ValueId>& values,
                          Space space) const {
    for (const ValueId value : values) {
      if (plan_.buffers[plan_.buffer_of[value]].space == space) continue;
      return Internal(fmt::format("{}: {} is in the wrong memory space",
                                  Name(id), graph_.ValueName(value)));
    }
    return absl::OkStatus();
  }

  // `feed`: what the step should copy, or invalid.
  absl::Status CheckKind(StepId id, ValueId feed) const {
    const Step& step = plan_.steps[id];
    const Node& node = graph_.node(step.node);
    const OpDef* def = ops_.Find(node.op);
    if (IsResidentNode(node, ops_)) {
      return Internal(fmt::format("{} runs a resident node", Name(id)));
    }
    const StepKind expected = ExpectedKind(feed, node, def);
    if (step.kind != expected) {
      return Internal(fmt::format("{} is of kind {}, but a {} is of kind {}",
                                  Name(id), static_cast<int>(step.kind),
                                  node.op, static_cast<int>(expected)));
    }
    if (!IsOnLane(step.kind, node, step.lane)) {
      return Internal(fmt::format("{} is on lane {}, where a {} does not run",
                                  Name(id), static_cast<int>(step.lane),
                                  node.op));
    }
    return absl::OkStatus();
  }

  absl::Status CheckFeed(StepId id, ValueId feed) const {
    const Step& step = plan_.steps[id];
    if (step.feed == feed) return absl::OkStatus();
    return Internal(fmt::format("{} copies feed {}, not {}", Name(id),
                                step.feed.value(), feed.value()));
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
      if (IsWorkspace(buffer)) {
        return Internal(
            fmt::format("{} lies in scratch", graph_.ValueName(values[i])));
      }
    }
    return absl::OkStatus();
  }

  // An output has the buffer of an input only if the op allows it. Any other
  // output has its own buffer, which does not outlive the step.
  absl::Status CheckSharing(StepId id) const {
    const Step& step = plan_.steps[id];
    const Node& node = graph_.node(step.node);
    const OpDef* def = ops_.Find(node.op);
    const std::vector<BufferPair> aliases =
        def == nullptr ? std::vector<BufferPair>()
                       : AliasesOf(*def, step.inputs.size());
    int num_in_place = 0;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (HasPair(aliases, i)) {
        if (TakesOver(aliases, step, i)) continue;
        return Internal(
            fmt::format("{}: output {} is not its input's bytes", Name(id), i));
      }
      if (std::ranges::count(step.outputs, step.outputs[i]) > 1 ||
          (std::ranges::count(step.inputs, step.outputs[i]) > 0 &&
           !MayTakeOver(def, node, step, i))) {
        return Internal(
            fmt::format("{}: output {} has the bytes of another "
                        "value of the step",
                        Name(id), i));
      }
      if (IsResident(plan_.buffers[step.outputs[i]])) {
        return Internal(
            fmt::format("{}: output {} has the bytes of {}, which "
                        "is resident",
                        Name(id), i, plan_.buffers[step.outputs[i]].name));
      }
      num_in_place += std::ranges::count(step.inputs, step.outputs[i]) > 0;
    }
    if (num_in_place < 2 || def->in_place_together) return absl::OkStatus();
    return Internal(
        fmt::format("{}: {} outputs overwrite inputs, but {} allows only one",
                    Name(id), num_in_place, node.op));
  }

  bool MayTakeOver(const OpDef* def, const Node& node, const Step& step,
                   size_t output) const {
    if (def == nullptr) return false;
    const std::vector<BufferPair> pairs =
        InPlacePairsOf(*def, step.inputs.size());
    if (!TakesOver(pairs, step, output)) return false;
    if (def->in_place_legal == nullptr) return true;
    const std::vector<TensorType> inputs = InputTypesOf(graph_, node, def);
    const std::vector<TensorType> outputs = TypesOf(graph_, node.outputs);
    return def->in_place_legal(
        {.attributes = node.attributes, .inputs = inputs, .outputs = outputs});
  }

  absl::Status CheckConstants(StepId id) const {
    const Step& step = plan_.steps[id];
    const OpDef* def = ops_.Find(graph_.node(step.node).op);
    if (def == nullptr) return absl::OkStatus();
    for (const int input : MutatedInputs(*def, step.inputs.size())) {
      const Buffer& buffer =
          plan_.buffers[step.inputs[static_cast<size_t>(input)]];
      if (buffer.kind != BufferKind::kConstant) continue;
      return Internal(
          fmt::format("{} overwrites the constant {}", Name(id), buffer.name));
    }
    return absl::OkStatus();
  }

  absl::Status CheckScratch(StepId id) const {
    const Step& step = plan_.steps[id];
    int64_t bytes = 0;
    if (step.workspace.is_valid()) {
      const Buffer& scratch = plan_.buffers[step.workspace];
      bytes = scratch.bytes;
      if (!IsWorkspace(step.workspace)) {
        return Internal(fmt::format("{}: its scratch is a value", Name(id)));
      }
      if (scratch.space != OutputSpace(graph_.node(step.node))) {
        return Internal(
            fmt::format("{}: its scratch is not where it runs", Name(id)));
      }
    }
    if (workspace_bytes_ == nullptr) return absl::OkStatus();
    const int64_t needed = step.node.index() < workspace_bytes_->size()
                               ? (*workspace_bytes_)[step.node]
                               : 0;
    if (bytes == needed) return absl::OkStatus();
    return Internal(fmt::format("{} has {} bytes of scratch, not {}", Name(id),
                                bytes, needed));
  }

  bool IsWorkspace(BufferId id) const {
    return plan_.buffers[id].kind == BufferKind::kWorkspace;
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const OpRegistry& ops_;
  const IdMap<NodeId, int64_t>* const workspace_bytes_;
  IdMap<NodeId, bool> runs_;
};

}  // namespace

absl::Status VerifySteps(const ExecutionPlan& plan, const Graph& graph,
                         const OpRegistry& ops,
                         const IdMap<NodeId, int64_t>* workspace_bytes) {
  return StepVerifier(plan, graph, ops, workspace_bytes).Run();
}

bool HasNoStep(const Graph& graph, const Node& node,
               std::span<const ValueId> fetches) {
  if (node.op != kSwapOut || node.inputs.size() != 1) return false;
  if (graph.producer(node.inputs[0]).op != kPlaceholder) return false;
  const ValueId copy = graph.output(node.id);
  for (const Use& use : graph.uses(copy)) {
    if (graph.node(use.node).op != kSwapIn) return false;
  }
  return std::ranges::count(fetches, copy) == 0;
}

}  // namespace spillway

// NaiveFault: checks one rule after the other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/input_groups.h"
#include "graph/well_known_ops.h"
#include "tests/executor/plan/naive_plan.h"

namespace spillway::testing {
namespace {

// Whether `output` of the step has the bytes of an input that one of `pairs`
// names for it.
bool MaySharePair(const std::vector<BufferPair>& pairs, const Step& step,
                  size_t output) {
  return std::ranges::any_of(pairs, [&](const BufferPair& pair) {
    const auto input = static_cast<size_t>(pair.input);
    return static_cast<size_t>(pair.output) == output &&
           input < step.inputs.size() &&
           step.inputs[input] == step.outputs[output];
  });
}

class Checker {
 public:
  Checker(const ExecutionPlan& plan, const Graph& graph, const OpRegistry& ops,
          const IdMap<NodeId, int64_t>* workspace_bytes)
      : plan_(plan),
        graph_(graph),
        ops_(ops),
        workspace_bytes_(workspace_bytes) {}

  std::string Fault() {
    for (const StepId id : plan_.steps.ids()) {
      for (const std::string& fault :
           {SlotFault(id), WaitFault(id), SharingFault(plan_.steps[id]),
            KindFault(plan_.steps[id]), ScratchFault(plan_.steps[id])}) {
        if (!fault.empty()) return fault;
      }
    }
    for (const Node& a : graph_.nodes()) {
      if (HasWrongResidentBytes(a)) return "a resident's buffer is wrong";
    }
    if (MissesANode()) return "a needed node is missing";
    for (const Buffer& buffer : plan_.buffers) {
      if (!IsInside(buffer)) return "a buffer is outside";
    }
    const StepOrder order(plan_);
    for (const auto& [before, after] : EdgePairs(plan_, graph_)) {
      if (!order.Before(before, after)) return "an edge is not kept";
    }
    for (const BufferId a : plan_.buffers.ids()) {
      for (const BufferId b : plan_.buffers.ids()) {
        if (a < b && Collide(order, a, b)) return "bytes are shared";
      }
      if (!WritesAreInOrder(order, a)) return "a value is overwritten";
    }
    for (const ValueId fetch : plan_.fetches) {
      if (IsLost(order, fetch)) return "a fetched value is overwritten";
    }
    return "";
  }

 private:
  bool IsResidentNode(NodeId id) const {
    const OpDef* def = ops_.Find(graph_.node(id).op);
    return def != nullptr && def->resident;
  }

  std::string KindFault(const Step& step) const {
    const Node& node = graph_.node(step.node);
    const OpDef* def = ops_.Find(node.op);
    bool is_alias = def != nullptr && def->mutates.empty() &&
                    !def->outputs.empty() && !def->alias.empty();
    for (size_t i = 0; is_alias && i < node.outputs.size(); ++i) {
      is_alias = std::ranges::count(def->alias, static_cast<int>(i),
                                    &BufferPair::output) > 0;
    }
    StepKind kind = is_alias ? StepKind::kAlias : StepKind::kCompute;
    Lane lane = Lane::kCompute;
    const ValueId feed = NaiveFeed(node.id);
    if (step.feed != feed) return "a step copies another feed";
    if (feed.is_valid() || node.op == kSwapIn) {
      kind = feed.is_valid() ? StepKind::kFeed : StepKind::kSwapIn;
      lane = Lane::kCopyIn;
    } else if (node.op == kSwapOut) {
      kind = StepKind::kSwapOut;
      lane = Lane::kCopyOut;
    } else if (node.op.ends_with("AllReduce") || node.op == "AllReduceInTurn") {
      lane = Lane::kCommunication;
    }
    if (IsResidentNode(step.node)) return "a resident node runs";
    if (step.kind != kind) return "a step is of another kind";
    return step.lane == lane ? "" : "a step is on another lane";
  }

  // What the caller has: the output of a Placeholder, also behind a SwapOut
  // that only SwapIns read.
  ValueId NaiveFeed(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op == kPlaceholder) return node.outputs[0];
    if (node.op != kSwapIn) return {};
    const NodeId out = graph_.value(node.inputs[0]).producer;
    return NeedsNoStep(out) ? graph_.node(out).inputs[0] : ValueId();
  }

  bool NeedsNoStep(NodeId id) const {
    const Node& node = graph_.node(id);
    if (IsResidentNode(id)) return true;
    if (node.op != kSwapOut) return false;
    const NodeId source = graph_.value(node.inputs[0]).producer;
    if (graph_.node(source).op != kPlaceholder) return false;
    for (const ValueId fetch : plan_.fetches) {
      if (fetch == node.outputs[0]) return false;
    }
    for (const Node& other : graph_.nodes()) {
      if (std::ranges::count(other.inputs, node.outputs[0]) == 0) continue;
      if (other.op != kSwapIn) return false;
    }
    return true;
  }

  std::string ScratchFault(const Step& step) const {
    const bool has_scratch = step.workspace.is_valid();
    if (has_scratch && plan_.buffers[step.workspace].space != Space::kDevice) {
      return "scratch is on the host";
    }
    if (workspace_bytes_ == nullptr) return "";
    const int64_t bytes = has_scratch ? plan_.buffers[step.workspace].bytes : 0;
    const int64_t needed =
        workspace_bytes_->empty() ? 0 : (*workspace_bytes_)[step.node];
    return bytes == needed ? "" : "scratch is of another size";
  }

  // The bytes of a Variable or constant belong to it alone, and have its kind.
  bool HasWrongResidentBytes(const Node& node) const {
    if (!IsResidentNode(node.id)) return false;
    const ValueId value = node.outputs[0];
    const BufferId id = plan_.buffer_of[value];
    if (!id.is_valid()) return false;
    const Buffer& buffer = plan_.buffers[id];
    for (const Node& other : graph_.nodes()) {
      if (other.id != node.id && IsResidentNode(other.id) &&
          plan_.buffer_of[other.outputs[0]] == id) {
        return true;
      }
    }
    return buffer.kind != (node.op == kVariable ? BufferKind::kVariable
                                                : BufferKind::kConstant) ||
           buffer.space != Space::kDevice ||
           buffer.bytes != graph_.type(value).num_bytes();
  }

  // Whether a step overwrites the value after it was made. Ops that overwrite
  // an input by definition may do it to fetches too.
  bool IsLost(const StepOrder& order, ValueId fetch) const {
    const BufferId buffer = plan_.buffer_of[fetch];
    const StepId producer = StepOf(plan_, graph_.value(fetch).producer);
    if (!producer.is_valid()) return false;
    for (const StepId id : plan_.steps.ids()) {
      if (order.Before(producer, id) && Writes(plan_.steps[id], buffer) &&
          !Mutates(plan_.steps[id], buffer)) {
        return true;
      }
    }
    return false;
  }

  std::string SlotFault(StepId id) const {
    const Step& step = plan_.steps[id];
    const Node& node = graph_.node(step.node);
    if (StepOf(plan_, step.node) != id) return "a node runs twice";
    const bool reads = step.kind != StepKind::kFeed;
    if (!AreBuffersOf(reads ? node.inputs : std::vector<ValueId>(),
                      step.inputs) ||
        !AreBuffersOf(node.outputs, step.outputs)) {
      return "a slot has another buffer";
    }
    const bool on_host =
        node.op == kSwapOut ||
        (node.op != kSwapIn && node.placement == Placement::kHost);
    for (const BufferId output : step.outputs) {
      if ((plan_.buffers[output].space == Space::kHost) != on_host) {
        return "an output is in the wrong space";
      }
    }
    return "";
  }

  bool AreBuffersOf(const std::vector<ValueId>& values,
                    const std::vector<BufferId>& buffers) const {
    if (values.size() != buffers.size()) return false;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!buffers[i].is_valid() || plan_.buffer_of[values[i]] != buffers[i] ||
          plan_.buffers[buffers[i]].bytes !=
              graph_.type(values[i]).num_bytes() ||
          plan_.buffers[buffers[i]].kind == BufferKind::kWorkspace) {
        return false;
      }
    }
    return true;
  }

  std::string WaitFault(StepId id) const {
    for (const StepId wait : plan_.steps[id].waits) {
      if (!wait.is_valid() || wait >= id) return "a wait is not backwards";
    }
    return "";
  }

  // An output may share the buffer of an input only where the op's definition
  // allows it. Scratch holds no value of the graph.
  std::string SharingFault(const Step& step) const {
    static const OpDef kPlanOnly;
    const OpDef* found = ops_.Find(graph_.node(step.node).op);
    const OpDef& def = found == nullptr ? kPlanOnly : *found;
    const std::vector<BufferPair> aliases = AliasesOf(def, step.inputs.size());
    int overwritten = 0;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const bool must =
          std::ranges::any_of(aliases, [&](const BufferPair& pair) {
            return static_cast<size_t>(pair.output) == i;
          });
      const bool is_alias = MaySharePair(aliases, step, i);
      if (must && !is_alias) return "an alias has bytes of its own";
      const bool shares = std::ranges::count(step.inputs, step.outputs[i]) > 0;
      if (shares && !is_alias &&
          !MaySharePair(InPlacePairsOf(def, step.inputs.size()), step, i)) {
        return "an output has an input's bytes";
      }
      overwritten += shares && !is_alias ? 1 : 0;
      if (overwritten > 1 && !def.in_place_together) {
        return "two outputs overwrite inputs";
      }
      if (!is_alias && IsResident(plan_.buffers[step.outputs[i]])) {
        return "an output has a resident's bytes";
      }
      if (!is_alias && std::ranges::count(step.outputs, step.outputs[i]) > 1) {
        return "two outputs have the same bytes";
      }
    }
    for (const BufferId input : step.inputs) {
      if (plan_.buffers[input].kind == BufferKind::kConstant &&
          Mutates(step, input)) {
        return "a constant is overwritten";
      }
    }
    const bool is_value =
        step.workspace.is_valid() &&
        plan_.buffers[step.workspace].kind != BufferKind::kWorkspace;
    return is_value ? "scratch has a value's bytes" : "";
  }

  bool MissesANode() const {
    std::vector<NodeId> needed;
    for (const ValueId value : plan_.fetches) {
      needed.push_back(graph_.value(value).producer);
      if (!plan_.buffer_of[value].is_valid()) return true;
    }
    for (const Step& step : plan_.steps) {
      const Node& node = graph_.node(step.node);
      needed.insert(needed.end(), node.control_inputs.begin(),
                    node.control_inputs.end());
      for (const ValueId input : node.inputs) {
        needed.push_back(graph_.value(input).producer);
      }
    }
    return std::ranges::any_of(needed, [&](NodeId id) {
      return !NeedsNoStep(id) && !StepOf(plan_, id).is_valid();
    });
  }

  bool IsInside(const Buffer& buffer) const {
    if (buffer.offset % 256 != 0 || buffer.offset < 0) return false;
    const int64_t end = buffer.offset + buffer.bytes;
    if (buffer.space == Space::kHost) return end <= plan_.host_bytes;
    if (end > plan_.device_bytes) return false;
    return IsResident(buffer) ? end <= plan_.resident_bytes
                              : buffer.offset >= plan_.resident_bytes;
  }

  // Whether neither buffer is finished before the other begins.
  bool Collide(const StepOrder& order, BufferId a, BufferId b) const {
    if (!ShareBytes(plan_.buffers[a], plan_.buffers[b])) return false;
    if (IsResident(plan_.buffers[a]) || IsResident(plan_.buffers[b])) {
      return true;
    }
    const std::vector<StepId> uses_of_a = UsesOf(plan_, a);
    const std::vector<StepId> uses_of_b = UsesOf(plan_, b);
    if (uses_of_a.empty() || uses_of_b.empty()) return false;
    const auto all_before = [&](BufferId first,
                                const std::vector<StepId>& uses_of_first,
                                const std::vector<StepId>& uses_of_second) {
      if (IsFetched(plan_, first)) return false;
      for (const StepId use : uses_of_first) {
        for (const StepId next : uses_of_second) {
          if (!order.Before(use, next)) return false;
        }
      }
      return true;
    };
    return !all_before(a, uses_of_a, uses_of_b) &&
           !all_before(b, uses_of_b, uses_of_a);
  }

  // Whether the op declares that it overwrites an input that has this buffer.
  bool Mutates(const Step& step, BufferId buffer) const {
    const OpDef* def = ops_.Find(graph_.node(step.node).op);
    if (def == nullptr) return false;
    return std::ranges::any_of(
        MutatedInputs(*def, step.inputs.size()), [&](int input) {
          return step.inputs[static_cast<size_t>(input)] == buffer;
        });
  }

  bool Writes(const Step& step, BufferId buffer) const {
    if (step.workspace == buffer) return true;
    if (Mutates(step, buffer)) return true;
    return step.kind != StepKind::kAlias &&
           std::ranges::count(step.outputs, buffer) > 0;
  }

  // Writers are ordered with each other and with every reader, and no step
  // reads a value after another was written over it.
  bool WritesAreInOrder(const StepOrder& order, BufferId buffer) const {
    for (const StepId writer : plan_.steps.ids()) {
      if (!Writes(plan_.steps[writer], buffer)) continue;
      for (const StepId other : plan_.steps.ids()) {
        if (other == writer) continue;
        const Step& step = plan_.steps[other];
        const bool reads = std::ranges::count(step.inputs, buffer) > 0;
        if (!reads && !Writes(step, buffer)) continue;
        if (!order.Before(writer, other) && !order.Before(other, writer)) {
          return false;
        }
        if (reads && order.Before(writer, other) &&
            IsStale(order, writer, other, buffer)) {
          return false;
        }
      }
    }
    return true;
  }

  // Whether `writer` runs between the producer of a value that `reader` reads
  // and the reader.
  bool IsStale(const StepOrder& order, StepId writer, StepId reader,
               BufferId buffer) const {
    const Node& node = graph_.node(plan_.steps[reader].node);
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      const StepId producer = StepOf(plan_, graph_.value(input).producer);
      return plan_.buffer_of[input] == buffer && producer.is_valid() &&
             producer != writer && !order.Before(writer, producer);
    });
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const OpRegistry& ops_;
  const IdMap<NodeId, int64_t>* const workspace_bytes_;
};

}  // namespace

std::string NaiveFault(const ExecutionPlan& plan, const Graph& graph,
                       const OpRegistry& ops,
                       const IdMap<NodeId, int64_t>* workspace_bytes) {
  return Checker(plan, graph, ops, workspace_bytes).Fault();
}

}  // namespace spillway::testing

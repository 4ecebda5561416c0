#include "tests/support/eval_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/kernel_registry.h"
#include "executor/session/resident_values.h"
#include "graph/input_groups.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "ops/all_ops.h"
#include "tests/support/guarded_buffer.h"

namespace spillway::testing {
namespace {

class Evaluation {
 public:
  Evaluation(const Graph& graph, const std::map<ValueId, HostTensor>& feeds,
             EvalState& state)
      : graph_(graph),
        feeds_(feeds),
        state_(state),
        bytes_(graph.num_values()) {}

  absl::Status RunNodes(const IdMap<NodeId, bool>& keep) {
    SPILLWAY_ASSIGN_OR_RETURN(
        kernels_, PrepareKernels(graph_, StandardOps(), StandardKernels(), keep,
                                 {.threads = state_.threads}));
    IdMap<NodeId, bool> done(graph_.num_nodes(), false);
    for (std::optional<NodeId> next = LowestReady(keep, done); next.has_value();
         next = LowestReady(keep, done)) {
      const Node& node = graph_.node(*next);
      SPILLWAY_RETURN_IF_ERROR(Annotate(Run(node), node.name));
      done[*next] = true;
    }
    return CheckGuards();
  }

  HostTensor Read(ValueId id) const {
    const auto size = static_cast<size_t>(graph_.type(id).num_bytes());
    return {.type = graph_.type(id), .bytes = {bytes_[id], bytes_[id] + size}};
  }

  void SaveVariables(const IdMap<NodeId, bool>& keep) {
    for (const Node& node : graph_.nodes()) {
      if (!keep[node.id] || node.op != kVariable) continue;
      state_.variables[node.name] = Read(node.outputs[0]);
    }
  }

 private:
  std::optional<NodeId> LowestReady(const IdMap<NodeId, bool>& keep,
                                    const IdMap<NodeId, bool>& done) const {
    for (const Node& node : graph_.nodes()) {
      bool ready = keep[node.id] && !done[node.id];
      for (const ValueId input : node.inputs) {
        ready = ready && done[graph_.value(input).producer];
      }
      for (const NodeId before : node.control_inputs) {
        ready = ready && done[before];
      }
      if (ready) return node.id;
    }
    return std::nullopt;
  }

  absl::Status Run(const Node& node) {
    for (const ValueId output : node.outputs) {
      bytes_[output] = Allocate(graph_.type(output).num_bytes());
    }
    if (node.op == kPlaceholder) return Feed(node);
    if (node.op == kVariable) return LoadVariable(node);
    if (node.op == kConst) {
      return FillResident(graph_, node.id, state_.seed,
                          bytes_[node.outputs[0]]);
    }
    if (node.op == kSwapOut || node.op == kSwapIn) {
      std::memcpy(bytes_[node.outputs[0]], bytes_[node.inputs[0]],
                  static_cast<size_t>(graph_.type(node.inputs[0]).num_bytes()));
      return absl::OkStatus();
    }
    for (const BufferPair& pair :
         AliasesOf(*StandardOps().Find(node.op), node.inputs.size())) {
      bytes_[node.outputs[static_cast<size_t>(pair.output)]] =
          bytes_[node.inputs[static_cast<size_t>(pair.input)]];
    }
    return RunKernel(node);
  }

  absl::Status Feed(const Node& node) {
    const auto feed = feeds_.find(node.outputs[0]);
    if (feed == feeds_.end()) return FailedPrecondition("is not fed");
    return Write(node.outputs[0], feed->second);
  }

  absl::Status LoadVariable(const Node& node) {
    const auto known = state_.variables.find(node.name);
    if (known != state_.variables.end()) {
      return Write(node.outputs[0], known->second);
    }
    return FillResident(graph_, node.id, state_.seed, bytes_[node.outputs[0]]);
  }

  absl::Status Write(ValueId value, const HostTensor& tensor) {
    if (tensor.type != graph_.type(value)) {
      return InvalidArgument(fmt::format("is {}; {} given",
                                         graph_.type(value).ToString(),
                                         tensor.type.ToString()));
    }
    std::ranges::copy(tensor.bytes, bytes_[value]);
    return absl::OkStatus();
  }

  absl::Status RunKernel(const Node& node) {
    Kernel* kernel = kernels_[node.id].get();
    if (kernel == nullptr) return absl::OkStatus();
    std::vector<void*> inputs;
    std::vector<void*> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(bytes_[id]);
    for (const ValueId id : node.outputs) outputs.push_back(bytes_[id]);
    return kernel->Run({.inputs = inputs,
                        .outputs = outputs,
                        .workspace = Allocate(kernel->workspace_bytes()),
                        .seed = state_.seed,
                        .step = &state_.step});
  }

  std::byte* Allocate(int64_t num_bytes) {
    return buffers_.emplace_back(num_bytes).data();
  }

  absl::Status CheckGuards() const {
    for (const GuardedBuffer& buffer : buffers_) {
      if (!buffer.guards_intact()) {
        return Internal("a kernel wrote outside its buffers");
      }
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::map<ValueId, HostTensor>& feeds_;
  EvalState& state_;
  KernelMap kernels_;
  std::vector<GuardedBuffer> buffers_;
  IdMap<ValueId, std::byte*> bytes_;
};

}  // namespace

absl::StatusOr<std::map<ValueId, HostTensor>> EvalGraph(
    const Graph& graph, const std::map<ValueId, HostTensor>& feeds,
    std::span<const ValueId> fetches, EvalState& state) {
  const IdMap<NodeId, bool> keep = NodesToRun(graph, StandardOps(), fetches);
  Evaluation evaluation(graph, feeds, state);
  SPILLWAY_RETURN_IF_ERROR(evaluation.RunNodes(keep));
  evaluation.SaveVariables(keep);
  ++state.step;
  std::map<ValueId, HostTensor> results;
  for (const ValueId id : fetches) results[id] = evaluation.Read(id);
  return results;
}

}  // namespace spillway::testing

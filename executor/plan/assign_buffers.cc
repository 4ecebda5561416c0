#include "executor/plan/assign_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "graph/input_groups.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Assigner {
 public:
  Assigner(const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
           std::span<const ValueId> fetches)
      : graph_(graph),
        ops_(ops),
        schedule_(schedule),
        fetched_(graph.num_values(), false) {
    result_.buffer_of.resize(graph.num_values());
    for (const ValueId value : fetches) fetched_[value] = true;
  }

  BufferAssignment Run(const ResidentLayout& residents,
                       std::string_view constant_prefix) {
    for (const NodeId id : schedule_.order) {
      const Node& node = graph_.node(id);
      const OpDef* def = ops_.Find(node.op);
      if (def != nullptr && def->resident) {
        AddResident(node, residents, constant_prefix);
      } else {
        AddOutputs(node, def);
      }
    }
    return std::move(result_);
  }

 private:
  void AddResident(const Node& node, const ResidentLayout& residents,
                   std::string_view constant_prefix) {
    const bool variable = node.op == kVariable;
    const std::string key =
        variable ? node.name : std::string(constant_prefix) + node.name;
    const auto offset = residents.offsets.find(key);
    SPILLWAY_CHECK(offset != residents.offsets.end());
    const BufferId buffer = AddBuffer(node.outputs[0], Space::kDevice);
    result_.buffers[buffer].offset = offset->second;
    result_.buffers[buffer].kind =
        variable ? BufferKind::kVariable : BufferKind::kConstant;
  }

  void AddOutputs(const Node& node, const OpDef* def) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      const BufferId shared = SharedBuffer(node, def, static_cast<int>(i));
      if (shared.is_valid()) {
        result_.buffer_of[output] = shared;
        result_.values[shared].push_back(output);
      } else {
        AddBuffer(output, OutputSpace(node));
      }
    }
  }

  BufferId AddBuffer(ValueId value, Space space) {
    const BufferId id =
        result_.buffers.push_back({.name = graph_.ValueName(value),
                                   .kind = BufferKind::kTransient,
                                   .space = space,
                                   .bytes = graph_.type(value).num_bytes()});
    result_.values.push_back({value});
    result_.buffer_of[value] = id;
    return id;
  }

  // The input buffer that output `output` takes over; invalid if none.
  BufferId SharedBuffer(const Node& node, const OpDef* def, int output) const {
    if (def == nullptr) return {};
    const int aliased = AliasedInput(*def, output);
    if (aliased >= 0) return InputBuffer(node, aliased);
    if (def->in_place.empty() || !InPlaceLegal(node, *def)) return {};
    for (const BufferPair& pair : def->in_place) {
      if (pair.output == output && CanOverwrite(node, pair)) {
        return InputBuffer(node, pair.input);
      }
    }
    return {};
  }

  BufferId InputBuffer(const Node& node, int input) const {
    return result_.buffer_of[node.inputs[static_cast<size_t>(input)]];
  }

  bool InPlaceLegal(const Node& node, const OpDef& def) const {
    if (!def.in_place_legal) return true;
    const std::vector<TensorType> inputs = TypesOf(graph_, node.inputs);
    const std::vector<TensorType> outputs = TypesOf(graph_, node.outputs);
    return def.in_place_legal(
        {.attributes = node.attributes, .inputs = inputs, .outputs = outputs});
  }

  bool CanOverwrite(const Node& node, const BufferPair& pair) const {
    if (static_cast<size_t>(pair.input) >= node.inputs.size()) return false;
    const BufferId buffer = InputBuffer(node, pair.input);
    const ValueId output = node.outputs[static_cast<size_t>(pair.output)];
    if (result_.buffers[buffer].kind != BufferKind::kTransient ||
        result_.buffers[buffer].space != Space::kDevice ||
        result_.buffers[buffer].bytes != graph_.type(output).num_bytes()) {
      return false;
    }
    return !SharedWithinNode(node, pair.input, buffer) &&
           !NeededLater(node, buffer);
  }

  // Another input, or an earlier output, of the node has the same buffer.
  bool SharedWithinNode(const Node& node, int input, BufferId buffer) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) != input &&
          result_.buffer_of[node.inputs[i]] == buffer) {
        return true;
      }
    }
    return std::ranges::any_of(node.outputs, [&](ValueId output) {
      return result_.buffer_of[output] == buffer;
    });
  }

  bool NeededLater(const Node& node, BufferId buffer) const {
    const int32_t now = schedule_.step_of[node.id];
    for (const ValueId value : result_.values[buffer]) {
      if (fetched_[value]) return true;
      for (const Use& use : graph_.uses(value)) {
        if (!schedule_.contains(use.node)) continue;
        if (schedule_.step_of[use.node] > now) return true;
        if (graph_.node(use.node).op == kSwapOut) return true;
      }
    }
    return false;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const Schedule& schedule_;
  IdMap<ValueId, bool> fetched_;
  BufferAssignment result_;
};

}  // namespace

bool IsPureAlias(const OpDef* def) {
  return def != nullptr && !def->alias.empty() && def->mutates.empty() &&
         def->alias.size() == def->outputs.size();
}

bool IsResidentNode(const Node& node, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  return def != nullptr && def->resident;
}

Space OutputSpace(const Node& node) {
  if (node.op == kSwapIn) return Space::kDevice;
  if (node.op == kSwapOut || node.placement == Placement::kHost) {
    return Space::kHost;
  }
  return Space::kDevice;
}

BufferAssignment AssignBuffers(const Graph& graph, const OpRegistry& ops,
                               const Schedule& schedule,
                               const ResidentLayout& residents,
                               std::string_view constant_prefix,
                               std::span<const ValueId> fetches) {
  return Assigner(graph, ops, schedule, fetches)
      .Run(residents, constant_prefix);
}

}  // namespace spillway

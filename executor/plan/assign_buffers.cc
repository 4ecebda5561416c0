#include "executor/plan/assign_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "executor/plan/in_place_rule.h"
#include "executor/plan/match_in_place.h"
#include "graph/copies.h"
#include "graph/feeds.h"
#include "graph/storage.h"
#include "graph/traverse.h"
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
        storages_(StorageMap::Of(graph, ops)),
        fetches_(fetches),
        fetched_(graph.num_values(), false) {
    result_.buffer_of.resize(graph.num_values());
    for (const ValueId value : fetches) fetched_[value] = true;
  }

  BufferAssignment Run(const ResidentLayout& residents,
                       std::string_view constant_prefix) {
    for (const NodeId id : schedule_.order) {
      const Node& node = graph_.node(id);
      if (IsResident(node)) {
        AddResident(node, residents, constant_prefix);
      } else if (!IsSwapOutOfFeed(graph_, node, fetches_)) {
        AddOutputs(node);
      }
    }
    return std::move(result_);
  }

 private:
  bool IsResident(const Node& node) const {
    if (node.outputs.empty()) return false;
    const Storage& storage = storages_.of(node.outputs[0]);
    return storage.is_resident && storage.root == node.outputs[0];
  }

  void AddResident(const Node& node, const ResidentLayout& residents,
                   std::string_view constant_prefix) {
    const auto offset =
        residents.offsets.find(ResidentKey(node, constant_prefix));
    SPILLWAY_CHECK(offset != residents.offsets.end());
    const BufferId buffer = AddBuffer(node.outputs[0], OutputSpace(node));
    result_.buffers[buffer].offset = offset->second;
    result_.buffers[buffer].kind =
        node.op == kVariable ? BufferKind::kVariable : BufferKind::kConstant;
  }

  void AddOutputs(const Node& node) {
    const std::vector<int> overwritten = OverwrittenInputs(node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (IsAlias(output)) {
        Share(output, result_.buffer_of[storages_.of(output).root]);
      } else if (!overwritten.empty() && overwritten[i] >= 0) {
        Share(output, InputBuffer(node, overwritten[i]));
      } else {
        AddBuffer(output, OutputSpace(node));
      }
    }
  }

  void Share(ValueId value, BufferId buffer) {
    result_.buffer_of[value] = buffer;
    result_.values[buffer].push_back(value);
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

  // By output: the input whose bytes it takes over; -1: none. Empty: no output
  // takes over an input.
  std::vector<int> OverwrittenInputs(const Node& node) const {
    InPlaceRule rule = FindInPlaceRule(graph_, ops_, storages_, node);
    if (rule.pairs.empty()) return {};
    const int32_t done = DoneBefore(node);
    std::erase_if(rule.pairs, [&](const BufferPair& pair) {
      return NeededBy(node, done, InputBuffer(node, pair.input));
    });
    if (rule.pairs.empty()) return {};
    return MatchInPlace(rule.pairs, rule.output_bytes, rule.together);
  }

  BufferId InputBuffer(const Node& node, int input) const {
    return result_.buffer_of[node.inputs[static_cast<size_t>(input)]];
  }

  bool IsAlias(ValueId value) const {
    return storages_.of(value).root != value;
  }

  // The compute lane and the communication lane run beside each other. The last
  // step of the other one that is done when the node runs; -1: none is known.
  int32_t DoneBefore(const Node& node) const {
    int32_t last = -1;
    ForEachPredecessor(graph_, node.id, [&](NodeId id) {
      const Node& before = graph_.node(id);
      const bool is_other = IsCollective(node.op)
                                ? LaneOf(before) == Lane::kCompute
                                : IsCollective(before.op);
      if (is_other && !IsResidentNode(before, ops_)) {
        last = std::max(last, schedule_.step_of[id]);
      }
    });
    return last;
  }

  // Whether a step still reads the bytes, or may, when the node runs. `done`:
  // DoneBefore(node).
  bool NeededBy(const Node& node, int32_t done, BufferId buffer) const {
    const int32_t now = schedule_.step_of[node.id];
    for (const ValueId value : result_.values[buffer]) {
      if (fetched_[value]) return true;
      for (const Use& use : graph_.uses(value)) {
        const Node& user = graph_.node(use.node);
        if (!schedule_.contains(use.node)) continue;
        if (IsSwapOutOfFeed(graph_, user, fetches_)) continue;
        if (schedule_.step_of[use.node] > now) return true;
        if (CopiesToHost(user.op)) return true;
        if (IsCollective(user.op) != IsCollective(node.op) &&
            schedule_.step_of[use.node] > done) {
          return true;
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const Schedule& schedule_;
  const StorageMap storages_;
  const std::span<const ValueId> fetches_;
  IdMap<ValueId, bool> fetched_;
  BufferAssignment result_;
};

}  // namespace

Lane LaneOf(const Node& node) {
  if (CopiesToHost(node.op)) return Lane::kCopyOut;
  if (CopiesToDevice(node.op) || node.op == kPlaceholder) return Lane::kCopyIn;
  if (IsCollective(node.op)) return Lane::kCommunication;
  return node.placement == Placement::kHost ? Lane::kHost : Lane::kCompute;
}

Space InputSpace(const Node& node) {
  return InputsAt(node) == Placement::kHost ? Space::kHost : Space::kDevice;
}

Space OutputSpace(const Node& node) {
  return OutputsAt(node) == Placement::kHost ? Space::kHost : Space::kDevice;
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

#include "lms/placement/place_on_host.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/copies.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "graph/verify.h"
#include "graph/well_known_ops.h"
#include "lms/added_nodes.h"
#include "lms/check_unedited.h"
#include "lms/placement/verify_placement.h"

namespace spillway {
namespace {

// Whether the node may be asked for: it has a kernel.
bool Runs(const Node& node, const OpRegistry& ops) {
  return node.op != kPlaceholder && !IsResidentNode(node, ops) &&
         !CopiesToHost(node.op) && !CopiesToDevice(node.op);
}

class Closure {
 public:
  Closure(const Graph& graph, const OpRegistry& ops, HostNodes& host)
      : graph_(graph),
        ops_(ops),
        storages_(StorageMap::Of(graph, ops)),
        host_(host) {}

  void Run() {
    host_.nodes.resize(graph_.num_nodes(), false);
    for (const Node& node : graph_.nodes()) {
      if (!Runs(node, ops_) || storages_.is_pure_alias(node.id)) {
        host_.nodes[node.id] = false;
      }
    }
    do {
      has_changed_ = false;
      for (const Storage& storage : storages_.storages()) Visit(storage);
    } while (has_changed_);
    for (const Node& node : graph_.nodes()) {
      if (node.op == kVariable && host_.nodes[node.id]) {
        host_.variables.insert(node.name);
      }
    }
  }

 private:
  bool IsOnHost(NodeId id) const { return host_.nodes[id]; }

  void Add(NodeId id) {
    has_changed_ |= !host_.nodes[id];
    host_.nodes[id] = true;
  }

  void Visit(const Storage& storage) {
    const Node& root = graph_.producer(storage.root);
    if (storage.is_resident && BelongsOnHost(root, storage)) Add(root.id);
    if (!IsOnHost(root.id)) return;
    for (const NodeId overwriter : storage.overwriters) Add(overwriter);
    for (const ValueId name : storage.values) {
      const NodeId maker = graph_.value(name).producer;
      if (storages_.is_pure_alias(maker)) Add(maker);
    }
  }

  bool BelongsOnHost(const Node& root, const Storage& storage) const {
    if (host_.variables.contains(root.name)) return true;
    const auto is_on_host = [&](NodeId id) { return IsOnHost(id); };
    if (std::ranges::any_of(storage.overwriters, is_on_host)) return true;
    const std::vector<NodeId> readers = ReadersOf(graph_, storages_, storage);
    return !readers.empty() && std::ranges::all_of(readers, is_on_host);
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const StorageMap storages_;
  HostNodes& host_;
  bool has_changed_ = false;
};

absl::Status CheckIsUnplaced(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op != kCopyToHost && node.op != kCopyToDevice) continue;
    return FailedPrecondition(
        fmt::format("this graph has nodes on the host already (it has {}); "
                    "place those of the original",
                    node.name));
  }
  return absl::OkStatus();
}

class Placer {
 public:
  Placer(const OpRegistry& ops, const Schedule& schedule, Graph& graph)
      : storages_(StorageMap::Of(graph, ops)),
        schedule_(schedule),
        graph_(graph) {}

  void Run(const HostNodes& host) {
    const size_t num_nodes = graph_.num_nodes();
    for (size_t i = 0; i < num_nodes; ++i) {
      if (host.nodes[NodeId(i)]) {
        graph_.SetPlacement(NodeId(i), Placement::kHost);
      }
    }
    for (size_t i = 0; i < num_nodes; ++i) Connect(NodeId(i));
  }

 private:
  void Connect(NodeId reader) {
    const size_t slots = graph_.node(reader).inputs.size();
    for (size_t i = 0; i < slots; ++i) {
      const ValueId value = graph_.node(reader).inputs[i];
      const Placement reads = InputsAt(graph_.node(reader));
      if (OutputsAt(graph_.producer(value)) == reads) continue;
      graph_.SetInput({.node = reader, .slot = static_cast<int32_t>(i)},
                      CopyFor(reader, value, reads));
    }
  }

  ValueId CopyFor(NodeId reader, ValueId value, Placement to) {
    const Storage& storage = storages_.of(value);
    const bool is_shared = !storage.is_resident && storage.overwriters.empty();
    const std::pair key(value, is_shared ? NodeId() : reader);
    const auto [entry, is_new] = copies_.try_emplace(key);
    if (is_new) entry->second = AddCopy(reader, value, to, storage.overwriters);
    return entry->second;
  }

  // All overwriting nodes are ordered against the reader, so any order shows
  // after which of them it runs.
  ValueId AddCopy(NodeId reader, ValueId value, Placement to,
                  std::span<const NodeId> overwriters) {
    const bool to_host = to == Placement::kHost;
    const NodeId copy = graph_.AddNode(
        {.name = AddedName(to_host ? "lms/to_host_" : "lms/to_device_",
                           graph_.ValueName(value), graph_),
         .op = std::string(to_host ? kCopyToHost : kCopyToDevice),
         .inputs = {value},
         .outputs = {graph_.type(value)},
         .placement = to});
    for (const NodeId overwriter : overwriters) {
      if (schedule_.step_of[overwriter] < schedule_.step_of[reader]) {
        graph_.AddControlEdge(overwriter, copy);
      }
    }
    return graph_.output(copy);
  }

  const StorageMap storages_;  // of the graph before the edit
  const Schedule& schedule_;   // likewise
  Graph& graph_;
  std::map<std::pair<ValueId, NodeId>, ValueId> copies_;
};

}  // namespace

void AddRequired(const Graph& graph, const OpRegistry& ops, HostNodes& host) {
  Closure(graph, ops, host).Run();
}

absl::Status PlaceOnHost(HostNodes host, const OpRegistry& ops, Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckIsUnedited(graph));
  SPILLWAY_RETURN_IF_ERROR(CheckIsUnplaced(graph));
  AddRequired(graph, ops, host);
  SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                            MakeSchedule(graph, ops, {}));
  Graph placed = graph;
  Placer(ops, schedule, placed).Run(host);
  SPILLWAY_RETURN_IF_ERROR(VerifyGraph(placed, ops));
  SPILLWAY_RETURN_IF_ERROR(VerifyPlacement(graph, placed, ops));
  graph = std::move(placed);
  return absl::OkStatus();
}

}  // namespace spillway

// Control edges of version 2: the trigger that starts a swap-in some levels
// ahead, and the rules by which compute waits for copies.
//
// Levels are those before the swaps were added: swap nodes have no level, and
// no search goes through them.
#ifndef SPILLWAY_LMS_V2_SYNC_H_
#define SPILLWAY_LMS_V2_SYNC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/edit_view.h"
#include "lms/incremental_order.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v2/levels.h"
#include "lms/v2/roles.h"

namespace spillway {

// The inputs of every search. Borrowed.
struct V2Context {
  const LmsOptions& options;
  const EditView& view;  // with the edits so far
  const V2Levels& levels;
  const V2Roles& roles;
  const StorageMap& storages;  // which nodes read which bytes
};

// Finds triggers: device nodes from which data flows to a reader. The data
// edges of the graph must not change during the lifetime of a search. Cost per
// reader: the edges into the nodes of at most ahead + 10 levels from which data
// flows to it; each is visited once.
class TriggerSearch {
 public:
  explicit TriggerSearch(const V2Context& context);

  // The latest such node that is more than `ahead` and at most ahead + 10
  // levels before `reader`, and after `source`; ties go to the lowest id. Nodes
  // of loops and branches do not count, nor do pure aliases, for which no
  // kernel runs. Invalid if none is found.
  NodeId Find(NodeId source, NodeId reader);

 private:
  NodeId Walk(NodeId reader);
  bool MayTrigger(NodeId id) const;

  const V2Context context_;
  IdMap<NodeId, bool> is_known_;
  IdMap<NodeId, NodeId> trigger_;  // by known reader
  IdMap<NodeId, NodeId> met_for_;  // the last reader whose walk met a node
};

// Device nodes among the producers of a node's inputs and its control inputs,
// each once, by id.
std::vector<NodeId> DevicePredecessors(const V2Context& context, NodeId id);
// Device nodes of the level before that of `id`.
std::vector<NodeId> DeviceNodesBefore(const V2Context& context, NodeId id);

// Adds control edges to the graph, but none that closes a cycle. (The original
// decides by levels that it does not recount. It omits all edges that would
// close a cycle, but also some that would not.)
class V2Sync {
 public:
  // `view` is that of the context and of `order`; `log` gets debug lines;
  // `name` names nodes of the view, including swaps. All are borrowed.
  V2Sync(const V2Context& context, EditView& view, IncrementalOrder& order,
         std::vector<LogLine>& log,
         absl::FunctionRef<std::string(NodeId)> name);

  // Adds the edge, or reports that it would close a cycle; `about` is the value
  // of the original graph to report.
  void AddEdge(NodeId before, NodeId after, ValueId about);

  // Host to device: if exactly one device node reads the output of `host`, then
  // `host` waits for the other nodes that this reader needs.
  void SyncToDevice(NodeId host);
  // Device to host: if `host` reads from exactly one device node, then that
  // node's other readers wait for `host`.
  void SyncToHost(NodeId host);

  const std::vector<AddedOrder>& added() const { return added_; }
  const std::vector<DroppedCandidate>& refused() const { return refused_; }

 private:
  bool IsOnDevice(NodeId id) const;
  ValueId ValueBetween(NodeId producer, NodeId reader) const;
  std::vector<NodeId> DeviceReaders(NodeId id) const;
  std::vector<NodeId> DeviceSuccessors(NodeId id) const;
  void LogPair(const char* text, NodeId a, NodeId b);

  const V2Context context_;
  EditView& view_;
  IncrementalOrder& order_;
  std::vector<LogLine>& log_;
  absl::FunctionRef<std::string(NodeId)> name_;
  std::vector<AddedOrder> added_;
  std::vector<DroppedCandidate> refused_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_SYNC_H_

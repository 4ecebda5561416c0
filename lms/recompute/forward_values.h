// What recomputation knows of a graph: which values of the forward phase wait
// for the backward phase, and which of them can be computed again.
#ifndef SPILLWAY_LMS_RECOMPUTE_FORWARD_VALUES_H_
#define SPILLWAY_LMS_RECOMPUTE_FORWARD_VALUES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/storage.h"
#include "lms/options.h"

namespace spillway {

// INVALID_ARGUMENT for an excluded scope or op that no node has.
absl::Status CheckExclusions(const RecomputeOptions& options,
                             const Graph& graph);

class ForwardValues {
 public:
  // `graph`, `ops` and `storages`, those of the graph, are borrowed. Errors:
  // those of FindBackwardNodes; INVALID_ARGUMENT for an excluded scope or op
  // that no node has, for a graph of which no op is registered, and for a
  // cycle. Cost: linear.
  static absl::StatusOr<ForwardValues> Of(const LmsOptions& options,
                                          const OpRegistry& ops,
                                          const StorageMap& storages,
                                          const Graph& graph);

  const Graph& graph() const { return *graph_; }
  const OpRegistry& ops() const { return *ops_; }
  const StorageMap& storages() const { return *storages_; }

  bool IsBackward(NodeId id) const { return is_backward_[id]; }
  int32_t level(NodeId id) const { return levels_[id]; }
  // All nodes, by level and then by id.
  std::span<const NodeId> order() const { return order_; }

  int64_t BytesOf(StorageId id) const;
  // The node that makes the bytes.
  NodeId MakerOf(StorageId id) const;

  // Whether a clone can compute the value.
  bool CanRemake(ValueId value) const { return can_remake_[value]; }
  // Whether clones can compute every value of the storage that the forward
  // phase makes.
  bool CanRemake(StorageId id) const;
  // What the clone for this value reads. Requires CanRemake(value).
  std::vector<ValueId> InputsOfRemake(ValueId value) const;

  // The first node of the backward phase that reads the storage, by level and
  // then by id; invalid if there is none.
  NodeId FirstReader(StorageId id) const { return first_reader_[id]; }
  // The node after which a clone that `reader` reads may run: the last node of
  // the backward phase, by level, that `reader` waits for. Invalid if there is
  // none: `reader` may run before the backward phase.
  NodeId TriggerFor(NodeId reader) const;
  // Whether the storage's bytes are unused between its last forward reader and
  // the trigger for its first backward reader, by levels.
  bool Waits(StorageId id) const;

 private:
  ForwardValues(const Graph& graph, const OpRegistry& ops,
                const StorageMap& storages)
      : graph_(&graph), ops_(&ops), storages_(&storages) {}

  void FindRemakes(const RecomputeOptions& options);
  bool ReadsUpdated(const Node& node) const;

  const Graph* graph_;
  const OpRegistry* ops_;
  const StorageMap* storages_;
  IdMap<NodeId, bool> is_backward_;
  IdMap<NodeId, int32_t> levels_;
  std::vector<NodeId> order_;
  IdMap<ValueId, bool> can_remake_;
  IdMap<StorageId, NodeId> first_reader_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_FORWARD_VALUES_H_

// SystemML's estimate of the memory of one node, by which it places nodes on a
// device or on the host. Source: Apache SystemML, its operators' worst-case
// memory estimates with the setting setGPU.
#ifndef SPILLWAY_TUNER_PLACEMENT_ESTIMATE_H_
#define SPILLWAY_TUNER_PLACEMENT_ESTIMATE_H_

#include <cstdint>

#include "graph/graph.h"
#include "graph/node.h"

namespace spillway {

// Exact bytes of the node's inputs (each value once), outputs and workspace.
int64_t EstimateBytes(const Graph& graph, NodeId id, int64_t workspace_bytes);

struct PlacementBudgets {
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
};

// Both comparisons are strict: a node of exactly a budget's bytes runs on the
// host.
inline bool RunsOnDevice(int64_t estimate, const PlacementBudgets& budgets) {
  return estimate < budgets.device_bytes && estimate < budgets.host_bytes;
}

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PLACEMENT_ESTIMATE_H_

// Nodes on the host: their kernels run on the CPU beside the device, on host
// memory, and copies connect them with the nodes on the device:
//
//   device   x = Conv2D -> CopyToHost            CopyToDevice -> z = Relu
//   host                       \-> y = MatMul(x) ---/
//
// This is how a step trains of which one node alone needs more memory than the
// device has, and how the state of an optimizer leaves the device. Variables
// that such a node overwrites live on the host. Source of the idea: Apache
// SystemML's operator placement; updates on the host: Ren et al.,
// "ZeRO-Offload" (USENIX ATC 2021), section 3.
#ifndef SPILLWAY_LMS_PLACEMENT_PLACE_ON_HOST_H_
#define SPILLWAY_LMS_PLACEMENT_PLACE_ON_HOST_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// What should be on the host.
struct HostNodes {
  // By node.
  IdMap<NodeId, bool> nodes = {};
  // Names of variables; programs of one session agree on them.
  std::set<std::string> variables = {};
};

// Adds what has to be on the host too, until nothing changes:
// - the variables that a node on the host overwrites, and all nodes that
//   overwrite these variables or those named;
// - variables and constants that only nodes on the host read;
// - other names of bytes on the host (Identity, Reshape).
// Names that only the device has bytes of, Placeholders and copies are taken
// out. Cost: O(nodes + edges) for each round.
void AddRequired(const Graph& graph, const OpRegistry& ops, HostNodes& host);

// Places the nodes, to which AddRequired adds, and adds CopyToHost and
// CopyToDevice nodes where a node reads the other memory: one for all readers
// of a value; for a variable or constant, which is always there, one for each
// reader. Ids of nodes and values stay. Changes `graph` only if it succeeds.
// Errors: FAILED_PRECONDITION for a graph with clones or swaps; those of
// VerifyGraph and VerifyPlacement.
absl::Status PlaceOnHost(HostNodes host, const OpRegistry& ops, Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_PLACEMENT_PLACE_ON_HOST_H_

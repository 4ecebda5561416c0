// In which memory the inputs and outputs of a node are.
#ifndef SPILLWAY_GRAPH_COPIES_H_
#define SPILLWAY_GRAPH_COPIES_H_

#include "graph/node.h"
#include "graph/well_known_ops.h"

namespace spillway {

inline Placement InputsAt(const Node& node) {
  if (CopiesToHost(node.op)) return Placement::kDevice;
  return CopiesToDevice(node.op) ? Placement::kHost : node.placement;
}

inline Placement OutputsAt(const Node& node) {
  if (CopiesToDevice(node.op)) return Placement::kDevice;
  return CopiesToHost(node.op) ? Placement::kHost : node.placement;
}

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_COPIES_H_

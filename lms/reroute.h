// Points readers of one value at another.
#ifndef SPILLWAY_LMS_REROUTE_H_
#define SPILLWAY_LMS_REROUTE_H_

#include <vector>

#include "graph/graph.h"

namespace spillway {

// All slots of `readers` that read `from` read `to` afterwards.
void Reroute(const std::vector<NodeId>& readers, ValueId from, ValueId to,
             Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_REROUTE_H_

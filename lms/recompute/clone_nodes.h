// The clones of an edited graph.
#ifndef SPILLWAY_LMS_RECOMPUTE_CLONE_NODES_H_
#define SPILLWAY_LMS_RECOMPUTE_CLONE_NODES_H_

#include <cstddef>

#include "graph/graph.h"
#include "lms/recompute/recompute_plan.h"

namespace spillway {

// The index of the node that is clone 0; the others follow it. The number of
// nodes if there are none. Cost: linear.
size_t FirstClone(const Graph& edited);

// For each value of `edited` that a clone computes: the value of the original
// graph that it equals; invalid for all others. Empty without clones.
IdMap<ValueId, ValueId> OriginalValues(const RecomputePlan& plan,
                                       const Graph& edited);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_CLONE_NODES_H_

// The floor: a lower bound for every plan of a graph.
#ifndef SPILLWAY_EXECUTOR_PLAN_FLOOR_H_
#define SPILLWAY_EXECUTOR_PLAN_FLOOR_H_

#include <cstdint>

#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

// The largest working set of one node: residents, its inputs, outputs and
// workspace, aligned, without outputs that could overwrite an input that came
// back for this node alone (InPlaceRule::most_bytes). No plan of this graph,
// with any LMS options, can be smaller.
struct MemoryFloor {
  NodeId node = {};  // invalid: nothing runs
  int64_t bytes = 0;
};
MemoryFloor FindFloor(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_FLOOR_H_

// Which order the nodes run in: it decides what is alive at the same time.
#ifndef SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_
#define SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/plan/compile_options.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

enum class ScheduleKind : uint8_t {
  kCreation,  // ready nodes in the order in which the graph was built
  kMemory,    // of several orders the one that needs the least device memory
  kAuto,      // kMemory where something asks for it: a device budget, or a
              // tensor that is swapped; else kCreation
};

// `options` as CompilePlan gets them; how large a budget is plays no part, so
// the order is the same for each. kMemory compares creation order with those of
// graph/order/memory_order.h by the live bytes of the steps they give, and
// keeps creation order where none is better. In the order of another, aliases
// of copies from the host come late, if that does not take more. Errors: what
// MakeSchedule says.
absl::StatusOr<Schedule> ChooseSchedule(const Graph& graph,
                                        const OpRegistry& ops,
                                        const IdMap<NodeId, bool>& keep,
                                        ScheduleKind kind,
                                        const CompileOptions& options);

// Device bytes that the order needs however well its buffers are packed,
// residents included.
int64_t LeastDeviceBytes(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_

// Chooses the order of the nodes, which determines what is live at the same
// time.
#ifndef SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_
#define SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/compile_options.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

enum class ScheduleKind : uint8_t {
  kCreation,  // ready nodes in creation order
  kMemory,    // the one of several orders that needs the least device memory
  kAuto,      // kMemory if there is a reason for it: a device budget, a tensor
              // that is swapped or a node that is recomputed; else kCreation
};

// `options` are those of CompilePlan; the size of a budget is ignored, so the
// order is the same for each. kMemory compares creation order with the orders
// of graph/order/memory_order.h by the live bytes of their steps, and keeps
// creation order if none is better. In another order, aliases of swapped-in
// copies run late if that takes no more memory. Errors: those of MakeSchedule.
absl::StatusOr<Schedule> ChooseSchedule(const Graph& graph,
                                        const OpRegistry& ops,
                                        const IdMap<NodeId, bool>& keep,
                                        ScheduleKind kind,
                                        const CompileOptions& options);

// Creation order and those of graph/order/memory_order.h, without duplicates.
// Errors: those of MakeSchedule.
absl::StatusOr<std::vector<Schedule>> PossibleSchedules(
    const Graph& graph, const OpRegistry& ops, const IdMap<NodeId, bool>& keep,
    const CompileOptions& options);

// Lower bound on the order's device bytes for any packing of its buffers,
// including residents.
int64_t LeastDeviceBytes(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_CHOOSE_SCHEDULE_H_

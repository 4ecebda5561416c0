// Offsets for the buffers of one memory space, within a budget or as low as can
// be.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_

#include <cstdint>
#include <optional>

#include "executor/plan/lifetimes.h"
#include "executor/plan/plan.h"

namespace spillway {

// The largest sum of bytes (aligned) that live at one step, residents included:
// no placement of these lifetimes is lower.
int64_t LiveBytesBound(const ExecutionPlan& plan, Space space,
                       const Lifetimes& lifetimes);

// Sets the offset and the lifetime of each buffer of `space` that is not
// resident, and the plan's bytes and lower bound of that space.
//
// The buffers are first placed with every end at its soonest: what that needs
// is the smallest budget, whatever budget is asked for, so a larger one never
// turns success into refusal. Then ends are delayed as far as `budget_bytes`
// (none: the smallest) allows. If even the smallest is above the budget, the
// plan shows the smallest.
void PlaceBuffers(Space space, std::optional<int64_t> budget_bytes,
                  Lifetimes& lifetimes, ExecutionPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_

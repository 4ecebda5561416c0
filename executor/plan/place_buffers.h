// Offsets for the buffers of one memory space, within a budget or as low as
// possible.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_

#include <cstdint>
#include <optional>

#include "executor/plan/lifetimes.h"
#include "executor/plan/plan.h"

namespace spillway {

// The largest sum of (aligned) bytes that are live at one step, including
// residents: a lower bound for every placement with these lifetimes.
int64_t LiveBytesBound(const ExecutionPlan& plan, Space space,
                       const Lifetimes& lifetimes);

// Sets the offset and the lifetime of each buffer of `space` that is not
// resident, and the plan's bytes and lower bound for that space.
//
// The buffers are first placed with every end at its soonest. The result is the
// smallest budget; it does not depend on the requested budget, so a larger
// budget never turns success into refusal. Then ends are delayed as far as
// `budget_bytes` (nothing: the smallest) allows. If even the smallest exceeds
// the budget, the plan has the smallest.
void PlaceBuffers(Space space, std::optional<int64_t> budget_bytes,
                  Lifetimes& lifetimes, ExecutionPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_BUFFERS_H_

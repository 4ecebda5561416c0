// Device offsets, and places of the swap-ins, for a step whose times are known.
//
// Where memory is short, nearly every byte is either used, or on its way out,
// or on its way in. Lifetimes that hold all of this would leave the packer no
// freedom. So only what has to be is hard: a tensor owns its bytes until its
// copy to the host was issued, and from right before its reader on. When the
// copies are expected to run is a wish: buffers are put where it is granted, or
// where least is waited for. Then each swap-in is issued as early as its bytes
// are free, but not before its place in the schedule.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_

#include <vector>

#include "executor/plan/compile_options.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"

namespace spillway {

struct TimedPlan {
  UnplacedPlan plan = {};  // with device offsets; the host's are missing
  Lifetimes lifetimes = {};
};

// By expected waiting, at most `max`; empty if no such placement was found
// within options.device_budget_bytes, or there is no budget. Uses
// options.expected_ns.
std::vector<TimedPlan> PlaceByTime(const Graph& graph, const OpRegistry& ops,
                                   const Schedule& schedule,
                                   const CompileOptions& options, size_t max);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_

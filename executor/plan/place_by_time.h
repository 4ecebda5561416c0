// Device offsets, and places of the swap-ins, for a step whose times are known.
//
// If memory is short, nearly every byte is either used, or on its way out, or
// on its way in. Lifetimes that include all of this would leave the packer no
// freedom. So only the necessary part is a hard constraint: a tensor owns its
// bytes until its copy to the host was issued, and from right before its reader
// on. The expected times of copies are preferences: buffers are placed where
// these are met, or where the expected waiting is least. Then each swap-in is
// issued as soon as its bytes are free, but not before its place in the
// schedule.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_

#include <vector>

#include "executor/plan/compile_options.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"

namespace spillway {

struct TimedPlan {
  UnplacedPlan plan = {};  // with device offsets, without host offsets
  Lifetimes lifetimes = {};
};

// In order of expected waiting, at most `max`; empty if no such placement was
// found within options.device_budget_bytes, or if there is no budget. Uses
// options.placement.expected_ns.
std::vector<TimedPlan> PlaceByTime(const Graph& graph, const OpRegistry& ops,
                                   const Schedule& schedule,
                                   const CompileOptions& options, size_t max);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_BY_TIME_H_

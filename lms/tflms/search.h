// TFLMS version 2's auto-tuning: searches swapout_threshold, swapin_ahead and
// swapin_groupby with TFLMS's own simulator (lms/tflms/simulator.h). Kept for
// comparison with our tuner, which models time and counts every byte.
//
//   1. Does the step fit without swaps? (only if all three are to be tuned)
//   2. The lowest sync mode, from the given one on, in which threshold 1
//      passes.
//   3. The highest threshold, by bisection. In sync modes 2 and 3 this is the
//      last step.
//   4. The highest ahead, by bisection.
//   5. The number of levels as groupby, or else the first value that passes
//      during bisection.
//
// Bisection assumes that if a number passes, all smaller numbers pass too; for
// ahead this does not hold. Without compat: a given threshold that fails is
// also tried in the higher sync modes, where the original takes mode 3 untried;
// and an ahead value fails if more swap-ins lack a trigger than with ahead 1,
// because those swap-ins are in fact synchronous.
// Source: as lms/v2/plan_swaps.h.
#ifndef SPILLWAY_LMS_TFLMS_SEARCH_H_
#define SPILLWAY_LMS_TFLMS_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/tflms/simulator.h"

namespace spillway {

struct TflmsRequest {
  // The numbers that are -1 are tuned; sync_mode is the lowest to use. `mode`
  // is ignored.
  LmsOptions options = {};
  TflmsLimits limits = {};
  int64_t batch_size = 0;  // for the log; 0: unknown
};

// One simulation of the search, in the order of the search; a set may occur
// twice.
struct TflmsTrial {
  TflmsSet set = {};
  TflmsPlay play = {};
  bool accepted = false;  // passed, and without compat has its triggers
};

struct TflmsResult {
  // RESOURCE_EXHAUSTED: the threshold was to be tuned, and no set passed.
  // CANCELLED: stopped. On an error `options` are not set.
  absl::Status status = {};
  bool tuned = false;     // a number that has an effect was to be tuned
  bool necessary = true;  // false: the step fits without swaps
  // Whether the chosen options, or the step without swaps, passed. If no set
  // passed with a given threshold, the options are the tried set with the least
  // device memory; ties go to the first (compat: the set in sync mode 3).
  bool passed = false;
  LmsOptions options = {};  // for ApplyLms: no number is -1
  std::vector<TflmsTrial> tried = {};
  std::vector<LogLine> log = {};
};

// `stop` is checked before each simulation but the first. Errors: those of
// TflmsSimulator::Create. Cost: about 3 log2(levels) simulations.
absl::StatusOr<TflmsResult> SearchTflms(const TflmsRequest& request,
                                        const Graph& graph,
                                        const StopRequest& stop = {});

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_SEARCH_H_

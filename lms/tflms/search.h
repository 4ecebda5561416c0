// TFLMS version 2's auto-tuning: the search for swapout_threshold, swapin_ahead
// and swapin_groupby by its own simulator (lms/tflms/simulator.h). Kept for
// comparison with our tuner, which reckons with time and with every byte.
//
//   1. Does the step fit without swaps? (asked if all three are to be tuned)
//   2. The lowest sync mode, from the given one on, in which threshold 1
//   passes.
//   3. The highest threshold, by bisection. In sync modes 2 and 3 that is all.
//   4. The highest ahead, by bisection.
//   5. The number of levels as groupby, or else what bisection meets first.
//
// A bisection takes it that whatever is below a number that passes does too;
// for ahead that is not so. Without compat: a given threshold that fails is
// tried in the higher sync modes as well, where the original takes mode 3
// untried; and an ahead with which more swap-ins lack a trigger than with 1 is
// taken as failed, for that set is really a synchronous one.
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
  // does not matter.
  LmsOptions options = {};
  TflmsLimits limits = {};
  int64_t batch_size = 0;  // for the log; 0: not known
};

// One play of the search, in the order of the search; a set may come twice.
struct TflmsTrial {
  TflmsSet set = {};
  TflmsPlay play = {};
  bool accepted = false;  // passed, and without compat has its triggers
};

struct TflmsResult {
  // RESOURCE_EXHAUSTED: the threshold was to be tuned, and no set passed.
  // CANCELLED: stopped. There are no options then.
  absl::Status status = {};
  bool tuned = false;     // some number was to be tuned and is used
  bool necessary = true;  // false: the step fits without swaps
  // Whether the chosen options, or the step without swaps, passed. Where no set
  // did with a given threshold, the options are the tried set of least device
  // memory, of equal ones the first (compat: that in sync mode 3).
  bool passed = false;
  LmsOptions options = {};  // for ApplyLms: no number is -1
  std::vector<TflmsTrial> tried = {};
  std::vector<LogLine> log = {};
};

// `stop` is asked before each play but the first. Errors: those of
// TflmsSimulator::Create. Cost: about 3 log2(levels) plays.
absl::StatusOr<TflmsResult> SearchTflms(const TflmsRequest& request,
                                        const Graph& graph,
                                        const StopRequest& stop = {});

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_SEARCH_H_

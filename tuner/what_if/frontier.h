// The frontier: the least predicted time of a step at each budget.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const Frontier frontier, TuneFrontier(
//       {.graph = graph, .fetches = {loss}}, {.profile = "p100_pcie"}));
#ifndef SPILLWAY_TUNER_WHAT_IF_FRONTIER_H_
#define SPILLWAY_TUNER_WHAT_IF_FRONTIER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/step_options.h"
#include "tuner/tune.h"

namespace spillway {

struct FrontierPoint {
  int64_t device_memory = 0;  // the budget
  int64_t step_ns = 0;        // predicted
  int64_t bound_ns = 0;       // for this budget
  // Of the plan; less than the budget where a plan for a smaller budget is
  // faster than what the search found for this one.
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  std::string name = {};  // of the recipe
};

struct Frontier {
  // Descending by budget: from what the step needs without one, eight an
  // octave, down to the smallest that was found to fit. Never faster with less
  // memory.
  std::vector<FrontierPoint> points = {};
  bool interrupted = false;  // options.stop or a time limit ended it
};

// options.device_memory is ignored. Errors: as Tune, none about memory.
absl::StatusOr<Frontier> TuneFrontier(const Program& program,
                                      const StepOptions& options);

// The same for a step whose other budgets and profile are settled.
absl::StatusOr<Frontier> TuneFrontierOf(const TuningSpec& spec);

// Per line: device_memory_bytes, part_of_peak, step_ms, bound_ms, speed_kept,
// device_bytes, host_bytes, plan. With a header; parts and kept speed are
// relative to the first point.
std::string FormatFrontierCsv(const Frontier& frontier);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_WHAT_IF_FRONTIER_H_

// The time of a planned step on the machine of a device profile, as text and as
// JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_STEP_TIMING_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_STEP_TIMING_H_

#include <cstdint>
#include <string>

#include "executor/plan/plan.h"
#include "simulator/simulator.h"
#include "tools/spillway/output/output.h"
#include "tuner/bound/lower_bound.h"

namespace spillway {

struct StepTiming {
  std::string profile = {};  // its name
  SimulatedStep step = {};
  int64_t batch_size = 0;  // of a rank; 0: unknown
  int64_t ranks = 1;       // that run the step together

  double step_ms() const { return static_cast<double>(step.step_ns) * 1e-6; }
  double images_per_second() const {
    return static_cast<double>(batch_size) * 1e3 / step_ms();
  }
  double busy_ms(Lane lane) const {
    return static_cast<double>(step.busy_ns[static_cast<size_t>(lane)]) * 1e-6;
  }
  double stall_ms(StallCause cause) const {
    return static_cast<double>(step.stall_ns[static_cast<size_t>(cause)]) *
           1e-6;
  }
};

std::string FormatTiming(const StepTiming& timing);

// "bound        476.9 ms by copies to the host; this plan is 4.6 % above it".
std::string FormatBound(const StepTimeBound& bound, int64_t step_ns);

// {"step_ms", "reason", "kernels_ms", "copies_out_ms", "copies_in_ms",
// "issue_ms", "communication_ms", "gap_percent"}
Json BoundJson(const StepTimeBound& bound, int64_t step_ns);

// Adds profile, step_ms, images_per_sec, lanes and stall_ms (docs/cli.md).
void AddTimingJson(const StepTiming& timing, Json& json);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_STEP_TIMING_H_

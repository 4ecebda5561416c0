// `spillway simulate`: predicts whether a step fits the budget with these LMS
// options, how much it moves, how long it takes on this machine or on that of a
// device profile, and the largest batch size that fits. Runs nothing.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_SIMULATE_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_SIMULATE_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/network_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct SimulateFlags {
  GraphSourceFlags source = {};
  StepOptions step = DefaultStepOptions();
  std::string plan = {};
  NetworkFlags network = {};
  bool find_max_batch = false;
  std::string trace = {};
  std::string report = {};
  ResultFlags result = {};
};
void AddSimulateFlags(FlagSet& set, SimulateFlags& flags);

// RESOURCE_EXHAUSTED if the step does not fit; the result was written then.
absl::Status RunSimulate(const SimulateFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_SIMULATE_COMMAND_H_

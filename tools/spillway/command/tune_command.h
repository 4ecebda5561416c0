// `spillway tune`: chooses how to run a step under its budgets, without running
// anything.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TUNE_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TUNE_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/network_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/flags/tflms_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct TuneFlags {
  // The defaults of `bench`.
  GraphSourceFlags source = {};
  std::vector<std::string> fetch = {};  // of a graph file's step
  StepOptions step = DefaultStepOptions(LmsMode::kAuto);
  std::string strategy = "best";  // or of PolicyNames()
  bool compare = false;
  bool explain_remedy = false;
  std::vector<std::string> explain = {};  // tensors
  TflmsFlags tflms = {};
  NetworkFlags network = {};
  bool find_max_batch = false;
  std::string out = {};
  std::string frontier = {};
  std::string trace = {};
  std::string report = {};
  ResultFlags result = {};
};
void AddTuneFlags(FlagSet& set, TuneFlags& flags);

// RESOURCE_EXHAUSTED if nothing fits.
absl::Status RunTune(const TuneFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TUNE_COMMAND_H_

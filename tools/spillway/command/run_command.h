// `spillway run`: runs one step of a graph file, with tensors read from a file
// and written to a file.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_COMMAND_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct RunFlags {
  std::string graph = {};
  std::string feed = {};
  std::vector<std::string> fetch = {};
  std::string out = {};
  // Instead of the four before.
  std::string onnx = {};
  std::string feeds = {};
  std::string fetches = {};
  int64_t batch_size = 0;
  std::map<std::string, int64_t> dims = {};
  int64_t seed = 0;
  StepOptions step = DefaultStepOptions();
  PlaceMode place = PlaceMode::kOff;
  std::string plan = {};
  std::string trace = {};
  ResultFlags result = {};
};
void AddRunFlags(FlagSet& set, RunFlags& flags);
absl::Status RunRun(const RunFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_COMMAND_H_

// `spillway inspect`: the contents of a graph and the memory it needs.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_INSPECT_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_INSPECT_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct InspectFlags {
  GraphSourceFlags source = {};
  StepOptions step = DefaultStepOptions();
  bool memory_report = false;
  int64_t memory_rows = 20;
  std::string out = {};
  std::string dot = {};
  ResultFlags result = {};
};
void AddInspectFlags(FlagSet& set, InspectFlags& flags);
absl::Status RunInspect(const InspectFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_INSPECT_COMMAND_H_

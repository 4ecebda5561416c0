// `spillway launch`: starts the ranks of a training on this machine.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_LAUNCH_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_LAUNCH_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct LaunchFlags {
  int num_ranks = 0;
  std::string run_dir = {};  // empty: a temporary folder
  int max_restarts = 0;
  double grace = 10;                      // seconds
  std::string log_dir = {};               // empty: no log files
  std::vector<std::string> command = {};  // of this program, with its flags
};
void AddLaunchFlags(FlagSet& set, LaunchFlags& flags);

// Returns after all ranks have ended. An error has the exit status of the
// program (tools/spillway/exit_status.h).
absl::Status RunLaunch(const LaunchFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_LAUNCH_COMMAND_H_

// `spillway profile`: measures this machine, and the kernels of a graph, for
// the predictions of the other commands (docs/device_profile.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_PROFILE_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_PROFILE_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct ProfileFlags {
  GraphSourceFlags source = {};  // empty: only the machine
  StepOptions step = DefaultStepOptions();
  int64_t num_batches = 20;
  int64_t num_warmup_batches = 3;
  std::string out = {};  // empty: the cached profile
  ResultFlags result = {};
};
void AddProfileFlags(FlagSet& set, ProfileFlags& flags);

// An existing file keeps the kernels that were not measured again, unless they
// are of other library versions. Errors: INVALID_ARGUMENT if the file is not a
// profile of this device.
absl::Status RunProfile(const ProfileFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_PROFILE_COMMAND_H_

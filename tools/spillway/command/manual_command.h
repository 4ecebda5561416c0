// `spillway manual`: prints the manual page as roff.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_MANUAL_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_MANUAL_COMMAND_H_

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct ManualFlags {};
void AddManualFlags(FlagSet& set, ManualFlags& flags);
absl::Status RunManual(const ManualFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_MANUAL_COMMAND_H_

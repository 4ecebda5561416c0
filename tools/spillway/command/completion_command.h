// `spillway completion SHELL`: prints the completion script for a shell.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_COMPLETION_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_COMPLETION_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct CompletionFlags {
  std::string shell = {};
};
void AddCompletionFlags(FlagSet& set, CompletionFlags& flags);
absl::Status RunCompletion(const CompletionFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_COMPLETION_COMMAND_H_

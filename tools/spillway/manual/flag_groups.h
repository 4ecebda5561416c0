// The flags of all commands, without repetition. Most commands share most
// flags.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_FLAG_GROUPS_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_FLAG_GROUPS_H_

#include <string>
#include <vector>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

// A flag with the same meaning in each of `commands`.
struct SharedFlag {
  FlagManual flag = {};
  std::vector<std::string> commands = {};
};

struct FlagGroup {
  std::string heading = {};
  std::vector<SharedFlag> flags = {};
};

// Flags with equal names, values and help texts become one. Flags that share
// only the name follow each other, in the group of the first. Groups and flags
// are in the order in which the commands first have them.
std::vector<FlagGroup> GroupFlags(const ProgramManual& program);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_FLAG_GROUPS_H_

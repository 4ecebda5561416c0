// The output of `spillway COMMAND --help`.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_HELP_TEXT_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_HELP_TEXT_H_

#include <cstdint>
#include <string>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

enum class HelpLength : uint8_t {
  kShort,  // --help: the command's common flags, if it defines some
  kLong,   // --help_all: all flags, by group
};

// Summary, usage, examples and flags, in lines of at most 80 columns unless a
// single word is longer.
std::string FormatHelp(const ProgramManual& program,
                       const CommandManual& command, HelpLength length);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_HELP_TEXT_H_

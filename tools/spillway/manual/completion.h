// Completion scripts for three shells. Each completes commands, a command's
// flags, and values as value_offers.h says; a value may follow as `--flag
// value` or `--flag=value`. The scripts need only the shell and do not run the
// program.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_COMPLETION_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_COMPLETION_H_

#include <string>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

// For bash 4 and later; to be sourced.
std::string FormatBashCompletion(const ProgramManual& program);

// For zsh: a file of $fpath named _spillway, or to be sourced after compinit.
std::string FormatZshCompletion(const ProgramManual& program);

// For fish 3; to be sourced.
std::string FormatFishCompletion(const ProgramManual& program);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_COMPLETION_H_

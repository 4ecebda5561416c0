// The program `spillway`: finds the subcommand, parses its flags, runs it, and
// turns its Status into an exit status (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_LINE_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

// `arguments`: without the program's name. Call it once, from main.
int RunCommandLine(const std::vector<std::string>& arguments);

// The program's commands with the flags that they parse.
ProgramManual DescribeProgram();

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_LINE_H_

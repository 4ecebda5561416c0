// The program, its commands and their flags as data. The manual page and the
// completion scripts are generated from it, so they match what the program
// accepts.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_PROGRAM_MANUAL_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_PROGRAM_MANUAL_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/spillway/manual/value_offers.h"

namespace spillway {

// The group of an argument that follows all flags, after "--".
inline constexpr const char* kRestGroup = "After --";

// A flag, or an argument without a flag.
struct FlagManual {
  std::string name = {};        // "--lms"; of an argument: "shell"
  std::string short_name = {};  // "-h", or empty
  std::string value = {};       // "off|auto|v1|v2", "FILE"; empty: no value
  std::string help = {};
  std::string group = {};  // its heading in --help
  bool is_required = false;
  bool value_is_optional = false;  // of a boolean: --check_memory
  bool is_rest = false;  // of an argument: follows the flags, after "--"
  ValueOffers offers = {};
};

struct CommandManual {
  std::string name = {};
  std::string summary = {};
  std::vector<std::string> examples = {};      // whole command lines
  std::vector<std::string> common_flags = {};  // of --help; empty: all
  std::vector<FlagManual> flags = {};          // in the order of --help_all
  std::vector<FlagManual> arguments = {};
};

struct ExitStatusManual {
  int status = 0;
  std::string meaning = {};
};

struct ProgramManual {
  std::string name = {};
  std::string version = {};
  std::string summary = {};
  std::vector<FlagManual> flags = {};  // those that replace a command
  std::vector<CommandManual> commands = {};
  std::vector<ExitStatusManual> exit_statuses = {};
};

// Describes the command whose flags were added to `app`.
CommandManual DescribeCommand(const std::string& name, const CLI::App& app);

// The words that can follow the program's name, in order.
std::vector<std::string> FirstWords(const ProgramManual& program);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_PROGRAM_MANUAL_H_

#include <string>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "tools/spillway/manual/completion.h"
#include "tools/spillway/manual/flag_groups.h"

namespace spillway {
namespace {

constexpr char kFishBegin[] =
    R"fish(# Completion of {0} for fish, written by `{0} completion fish`.
function __{0}_needs_command
    test (count (commandline -opc)) -eq 1
end
function __{0}_command_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end
complete -c {0} -f
)fish";

std::string FishQuoted(const std::string& text) {
  const std::string escaped = CLI::detail::find_and_replace(text, "\\", "\\\\");
  return fmt::format("'{}'",
                     CLI::detail::find_and_replace(escaped, "'", "\\'"));
}

// " -x -a 'off auto'": -r: takes a value, -f: no files, -F: files, -x: -r -f.
std::string FishValue(const FlagManual& flag) {
  if (flag.value.empty()) return "";
  const ValueOffers& offers = flag.offers;
  std::string text = offers.files             ? " -r -F"
                     : flag.value_is_optional ? " -f"
                                              : " -x";
  if (offers.folders) text += " -a '(__fish_complete_directories)'";
  if (!offers.words.empty()) {
    text += " -a " + FishQuoted(CLI::detail::join(offers.words, " "));
  }
  return text;
}

// " -l lms -s h" for the names "--lms" and "-h".
std::string FishNames(const FlagManual& flag) {
  std::string text = " -l " + flag.name.substr(2);
  if (!flag.short_name.empty()) text += " -s " + flag.short_name.substr(1);
  return text;
}

// The words and flags that may come first on the command line.
std::string FirstLines(const ProgramManual& program) {
  std::string text;
  const std::string line =
      fmt::format("complete -c {0} -n __{0}_needs_command", program.name);
  for (const CommandManual& command : program.commands) {
    text += fmt::format("{} -a {} -d {}\n", line, command.name,
                        FishQuoted(command.summary));
  }
  for (const FlagManual& flag : program.flags) {
    text += fmt::format("{}{} -d {}\n", line, FishNames(flag),
                        FishQuoted(flag.help));
  }
  return text;
}

std::string ConditionalLine(const std::string& program,
                            const std::vector<std::string>& commands,
                            const std::string& rest) {
  return fmt::format("complete -c {0} -n '__{0}_command_is {1}'{2}\n", program,
                     CLI::detail::join(commands, " "), rest);
}

}  // namespace

std::string FormatFishCompletion(const ProgramManual& program) {
  std::string text = fmt::format(kFishBegin, program.name);
  text += FirstLines(program);
  for (const CommandManual& command : program.commands) {
    for (const FlagManual& argument : command.arguments) {
      text += ConditionalLine(
          program.name, {command.name},
          " -a " + FishQuoted(CLI::detail::join(argument.offers.words, " ")));
    }
  }
  for (const FlagGroup& group : GroupFlags(program)) {
    for (const SharedFlag& shared : group.flags) {
      text += ConditionalLine(program.name, shared.commands,
                              FishNames(shared.flag) + FishValue(shared.flag) +
                                  " -d " + FishQuoted(shared.flag.help));
    }
  }
  return text;
}

}  // namespace spillway

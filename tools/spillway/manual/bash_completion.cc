#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "tools/spillway/manual/completion.h"

namespace spillway {
namespace {

// The body of the function goes between the two; it sets, for `command` and
// `flag`:
//   flags   the flags of the command
//   words   the valid words here, without flags
//   paths   -f or -d if files or folders are valid
//   more    whether a flag is valid here too
constexpr char kBashBegin[] = R"bash(_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} flag=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command=${{COMP_WORDS[1]}} flags='' words='' paths='' more='' start=''
  COMPREPLY=()
  # --flag=value is three words, unless = was taken out of COMP_WORDBREAKS.
  if [[ $current == '=' ]]; then
    current='' start='='
  elif [[ $flag == '=' ]]; then
    flag=${{COMP_WORDS[COMP_CWORD - 2]}} start='='
  elif [[ $current == --*=* ]]; then
    flag=${{current%%=*}} current=${{current#*=}} start=$flag=
  fi
  if ((COMP_CWORD == 1)); then
    words='{1}'
  else
    case $command in
)bash";

constexpr char kBashEnd[] = R"bash(    esac
  fi
  if [[ -z $start && -n $flags && ($current == -* || -n $more) ]]; then
    [[ $current != -* ]] || words='' paths=''
    words+=" $flags"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ -n $paths ]]; then
    mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen "$paths" -- "$current")
    compopt -o filenames 2> /dev/null
  fi
  [[ $start != --* ]] || COMPREPLY=("${{COMPREPLY[@]/#/$start}}")
}}
complete -F _{0} {0}
)bash";

std::string Spaced(const std::vector<std::string>& words) {
  return CLI::detail::join(words, " ");
}

// " words='off auto' paths=-f"
std::string Assignments(const ValueOffers& offers) {
  std::string text;
  if (!offers.words.empty()) {
    text += fmt::format(" words='{}'", Spaced(offers.words));
  }
  if (offers.files) text += " paths=-f";
  if (offers.folders && !offers.files) text += " paths=-d";
  return text;
}

// The cases for a command's flags: one case for all flags with the same values.
std::string ValueCases(const CommandManual& command) {
  std::map<std::string, std::string> flags_by_values;
  for (const FlagManual& flag : command.flags) {
    if (flag.value.empty()) continue;
    const std::string values =
        Assignments(flag.offers) + (flag.value_is_optional ? " more=1" : "");
    std::string& flags = flags_by_values[values];
    flags += (flags.empty() ? "" : " | ") + flag.name;
    if (!flag.short_name.empty()) flags += " | " + flag.short_name;
  }
  std::string text;
  for (const auto& [values, flags] : flags_by_values) {
    text += fmt::format("          {}){} ;;\n", flags, values);
  }
  return text;
}

// The case in which no flag's value is expected.
std::string OtherCase(const CommandManual& command) {
  ValueOffers offers;
  if (!command.arguments.empty()) offers = command.arguments.front().offers;
  return fmt::format("          *){} more=1 ;;\n", Assignments(offers));
}

std::string CommandCase(const CommandManual& command) {
  std::vector<std::string> names;
  for (const FlagManual& flag : command.flags) names.push_back(flag.name);
  return fmt::format(
      "      {})\n        flags='{}'\n        case $flag in\n{}{}"
      "        esac\n        ;;\n",
      command.name, Spaced(names), ValueCases(command), OtherCase(command));
}

}  // namespace

std::string FormatBashCompletion(const ProgramManual& program) {
  std::string text = fmt::format(
      "# Completion of {0} for bash, written by `{0} completion bash`.\n",
      program.name);
  text += fmt::format(kBashBegin, program.name, Spaced(FirstWords(program)));
  for (const CommandManual& command : program.commands) {
    text += CommandCase(command);
  }
  return text + fmt::format(kBashEnd, program.name);
}

}  // namespace spillway

#include <string>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "tools/spillway/manual/completion.h"

namespace spillway {
namespace {

constexpr char kZshBegin[] = R"zsh(#compdef {0}
# Completion of {0} for zsh, written by `{0} completion zsh`.
_{0}_names_or_files() {{
  _alternative "names:name:($*)" 'files:file:_files'
}}
_{0}() {{
  local -a commands
  commands=(
{1}  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
)zsh";

// zsh runs a file of $fpath as the function itself.
constexpr char kZshEnd[] = R"zsh(  esac
}}
if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)zsh";

std::string ZshQuoted(const std::string& text) {
  return fmt::format("'{}'", CLI::detail::find_and_replace(text, "'", "'\\''"));
}

// `text` with a backslash before each backslash and each character of
// `special`.
std::string WithBackslashes(const std::string& text,
                            const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || special.find(c) != special.npos) result += '\\';
    result += c;
  }
  return result;
}

// The action of _arguments for a value, after the colon.
std::string ZshAction(const std::string& program, const ValueOffers& offers) {
  const std::string words = CLI::detail::join(offers.words, " ");
  if (offers.files && !words.empty()) {
    return fmt::format(" _{}_names_or_files {}", program, words);
  }
  if (offers.files) return "_files";
  if (offers.folders) return "_files -/";
  return words.empty() ? " " : fmt::format("({})", words);
}

// "TEXT:_files"
std::string LabelAndAction(const std::string& program, const FlagManual& flag) {
  return fmt::format("{}:{}", WithBackslashes(flag.value, ":"),
                     ZshAction(program, flag.offers));
}

std::string ZshFlag(const std::string& program, const FlagManual& flag) {
  const std::string help =
      fmt::format("[{}]", WithBackslashes(flag.help, "[]"));
  if (!flag.short_name.empty() && flag.value.empty()) {
    return fmt::format("'({0} {1})'{{{0},{1}}}{2}", flag.short_name, flag.name,
                       ZshQuoted(help));
  }
  if (!flag.short_name.empty()) {
    return fmt::format("'({0} {1})'{{{0},{1}=}}{2}", flag.short_name, flag.name,
                       ZshQuoted(help + ":" + LabelAndAction(program, flag)));
  }
  if (flag.value.empty()) return ZshQuoted(flag.name + help);
  return ZshQuoted(fmt::format("{}={}{}{}", flag.name, help,
                               flag.value_is_optional ? "::" : ":",
                               LabelAndAction(program, flag)));
}

std::string ZshCase(const std::string& program, const CommandManual& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.name);
  for (const FlagManual& flag : command.flags) {
    text += " \\\n        " + ZshFlag(program, flag);
  }
  for (const FlagManual& argument : command.arguments) {
    text += " \\\n        " + ZshQuoted((argument.is_rest ? "*:" : "1:") +
                                        LabelAndAction(program, argument));
  }
  return text + "\n      ;;\n";
}

}  // namespace

std::string FormatZshCompletion(const ProgramManual& program) {
  std::string commands;
  const auto add = [&commands](const std::string& name,
                               const std::string& summary) {
    commands += fmt::format(
        "    {}\n",
        ZshQuoted(fmt::format("{}:{}", name, WithBackslashes(summary, ""))));
  };
  for (const CommandManual& command : program.commands) {
    add(command.name, command.summary);
  }
  for (const FlagManual& flag : program.flags) add(flag.name, flag.help);
  std::string text = fmt::format(kZshBegin, program.name, commands);
  for (const CommandManual& command : program.commands) {
    text += ZshCase(program.name, command);
  }
  return text + fmt::format(kZshEnd, program.name);
}

}  // namespace spillway

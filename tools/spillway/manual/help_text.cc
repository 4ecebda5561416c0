#include "tools/spillway/manual/help_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "fmt/format.h"

namespace spillway {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kHelpColumn = 28;  // at which the help of a flag begins

// `first`, then the words of `text`, wrapped into lines that begin at
// kHelpColumn.
std::string Hang(const std::string& first, const std::string& text) {
  std::string lines;
  std::string line = first;
  const auto break_line = [&] {
    lines += line + "\n";
    line.clear();
  };
  if (line.size() + 2 > kHelpColumn) break_line();
  line.resize(kHelpColumn, ' ');
  bool is_first_word = true;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!is_first_word && line.size() + 1 + word.size() > kColumns) {
      break_line();
      line.assign(kHelpColumn, ' ');
      is_first_word = true;
    }
    line += (is_first_word ? "" : " ") + word;
    is_first_word = false;
  }
  break_line();
  return lines;
}

// "-h, --help", "--lms [off|auto|v1|v2]", "--model MODEL".
std::string Usage(const FlagManual& flag) {
  std::string text = flag.short_name.empty()
                         ? flag.name
                         : fmt::format("{}, {}", flag.short_name, flag.name);
  if (flag.value.empty()) return text;
  return text + (flag.value_is_optional ? fmt::format(" [{}]", flag.value)
                                        : fmt::format(" {}", flag.value));
}

// Many choices take several lines.
std::string FormatFlag(const FlagManual& flag) {
  std::string head = "  " + Usage(flag);
  std::string lines;
  while (head.size() > kColumns) {
    const size_t bar = head.rfind('|', kColumns - 1);
    if (bar == std::string::npos) break;
    lines += head.substr(0, bar + 1) + "\n";
    head = "      " + head.substr(bar + 1);
  }
  return lines +
         Hang(head, flag.is_required ? flag.help + "; required" : flag.help);
}

std::string FormatUsage(const ProgramManual& program,
                        const CommandManual& command) {
  std::string text = fmt::format("Usage: {} {}", program.name, command.name);
  std::string rest;
  for (const FlagManual& argument : command.arguments) {
    if (argument.is_rest) {
      rest += fmt::format(" -- {} ...", argument.value);
    } else {
      text += fmt::format(" {}", argument.value);
    }
  }
  return fmt::format("{} [FLAGS]{}\n", text, rest);
}

std::string FormatExamples(const CommandManual& command) {
  if (command.examples.empty()) return "";
  std::string text =
      command.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& example : command.examples) {
    text += fmt::format("  {}\n", example);
  }
  return text;
}

std::string FormatArguments(const CommandManual& command) {
  if (command.arguments.empty()) return "";
  std::string text = "\nArguments:\n";
  for (const FlagManual& argument : command.arguments) {
    text += Hang("  " + argument.value, argument.help);
  }
  return text;
}

std::string FormatCommonFlags(const CommandManual& command) {
  std::string text = "\nCommon flags:\n";
  for (const std::string& name : command.common_flags) {
    text +=
        FormatFlag(*std::ranges::find(command.flags, name, &FlagManual::name));
  }
  return text;
}

std::string FormatAllFlags(const CommandManual& command) {
  std::vector<std::string> groups;
  for (const FlagManual& flag : command.flags) {
    if (std::ranges::find(groups, flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  std::stable_partition(
      groups.begin(), groups.end(),
      [](const std::string& group) { return group != "Help"; });
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const FlagManual& flag : command.flags) {
      if (flag.group == group) text += FormatFlag(flag);
    }
  }
  return text;
}

}  // namespace

std::string FormatHelp(const ProgramManual& program,
                       const CommandManual& command, HelpLength length) {
  const std::string head = fmt::format(
      "{}\n\n{}{}{}", command.summary, FormatUsage(program, command),
      FormatExamples(command), FormatArguments(command));
  if (length == HelpLength::kLong || command.common_flags.empty()) {
    return head + FormatAllFlags(command);
  }
  return head + FormatCommonFlags(command) +
         fmt::format("\n{} {} --help_all lists all {} flags.\n", program.name,
                     command.name, command.flags.size());
}

}  // namespace spillway

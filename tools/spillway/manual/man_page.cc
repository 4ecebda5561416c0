#include "tools/spillway/manual/man_page.h"

#include <cctype>
#include <span>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "tools/spillway/manual/flag_groups.h"
#include "tools/spillway/manual/man_page_prose.h"

namespace spillway {
namespace {

std::string Bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", RoffEscaped(text));
}

std::string Italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", RoffEscaped(text));
}

std::string Section(std::string_view heading) {
  return fmt::format(".SH {}\n", std::string(heading));
}

std::string Paragraph(std::string_view text) {
  return fmt::format(".PP\n{}\n", RoffEscaped(text));
}

// `tag` is already roff.
std::string Tagged(const std::string& tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, RoffEscaped(text));
}

// Literal words are bold; placeholders are italic. A line may end after each.
std::string FormatValue(const FlagManual& flag) {
  std::vector<std::string> parts = CLI::detail::split(flag.value, '|');
  for (std::string& part : parts) {
    const bool is_word = OffersOf(part).words == std::vector{part};
    part = is_word ? Bold(part) : Italic(part);
  }
  return CLI::detail::join(parts, "|\\:");
}

// "-h, --help" or "--lms off|auto"
std::string FlagTag(const FlagManual& flag) {
  std::string tag;
  if (!flag.short_name.empty()) tag = Bold(flag.short_name) + ", ";
  tag += Bold(flag.name);
  return flag.value.empty() ? tag
                            : fmt::format("{} {}", tag, FormatValue(flag));
}

// "spillway train --model MODEL [FLAGS]"
std::string Synopsis(const ProgramManual& program,
                     const CommandManual& command) {
  std::string text = Bold(program.name + " " + command.name);
  std::string rest;
  for (const FlagManual& argument : command.arguments) {
    const std::string value = FormatValue(argument);
    if (argument.is_rest) {
      rest += fmt::format(" {} {} ...", Bold("--"), value);
      continue;
    }
    text += argument.is_required ? " " + value : fmt::format(" [{}]", value);
  }
  bool has_others = false;
  for (const FlagManual& flag : command.flags) {
    if (flag.is_required) text += " " + FlagTag(flag);
    has_others = has_others || !flag.is_required;
  }
  if (has_others) text += fmt::format(" [{}]", Italic("FLAGS"));
  return text + rest;
}

std::string CommandsSection(const ProgramManual& program) {
  std::string text = Section("COMMANDS");
  for (const CommandManual& command : program.commands) {
    text += Tagged(Synopsis(program, command), command.summary);
  }
  for (const FlagManual& flag : program.flags) {
    text += Tagged(fmt::format("{} {}", Bold(program.name), FlagTag(flag)),
                   flag.help);
  }
  return text;
}

// The number of commands that have flags.
size_t CountCommandsWithFlags(const ProgramManual& program) {
  size_t count = 0;
  for (const CommandManual& command : program.commands) {
    if (!command.flags.empty()) ++count;
  }
  return count;
}

std::string FlagsSection(const ProgramManual& program) {
  std::string text =
      Section("FLAGS") +
      Paragraph(
          "The commands that take a flag stand in brackets after its "
          "description; all take a flag without brackets.");
  const size_t count = CountCommandsWithFlags(program);
  for (const FlagGroup& group : GroupFlags(program)) {
    text += fmt::format(".SS {}\n", RoffEscaped(group.heading));
    for (const auto& [flag, commands] : group.flags) {
      const std::string which =
          commands.size() == count
              ? ""
              : fmt::format(" [{}]", CLI::detail::join(commands, ", "));
      text += Tagged(FlagTag(flag), flag.help + which);
    }
  }
  return text;
}

std::string ExitStatusSection(const ProgramManual& program) {
  std::string text = Section("EXIT STATUS");
  for (const auto& [status, meaning] : program.exit_statuses) {
    text += Tagged(Bold(fmt::format("{}", status)), meaning);
  }
  return text;
}

std::string TermsSection(std::string_view heading,
                         std::span<const ManPageTerm> terms) {
  std::string text = Section(heading);
  for (const auto& [term, meaning] : terms) {
    text += Tagged(Italic(term), meaning);
  }
  return text;
}

std::string ExamplesSection() {
  std::string text = Section("EXAMPLES");
  for (const auto& [purpose, command] : ManPageExamples()) {
    text += Paragraph(purpose) +
            fmt::format(".PP\n.RS 4\n{}\n.RE\n", Bold(command));
  }
  return text;
}

}  // namespace

std::string RoffEscaped(std::string_view text) {
  std::string result;
  // A dot or an apostrophe at the beginning of a line starts a roff request.
  if (text.starts_with('.')) result += "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string FormatManPage(const ProgramManual& program) {
  std::string capitals = program.name;
  for (char& c : capitals) c = static_cast<char>(std::toupper(c));
  std::string text = fmt::format(
      ".\\\" Written by `{0} manual`.\n.TH {1} 1 \"\" \"{0} {2}\" \"User "
      "Commands\"\n.nh\n.ad l\n",
      program.name, capitals, program.version);
  text += Section("NAME") + fmt::format("{} \\- {}\n", program.name,
                                        RoffEscaped(program.summary));
  text += Section("SYNOPSIS") + fmt::format("{} {} [{}]\n", Bold(program.name),
                                            Italic("COMMAND"), Italic("FLAGS"));
  text += Section("DESCRIPTION");
  for (const std::string_view paragraph : ManPageDescription()) {
    text += Paragraph(paragraph);
  }
  text += CommandsSection(program) + FlagsSection(program) +
          ExitStatusSection(program);
  text += TermsSection("FILES", ManPageFiles());
  text += TermsSection("ENVIRONMENT", ManPageEnvironment());
  return text + ExamplesSection();
}

}  // namespace spillway

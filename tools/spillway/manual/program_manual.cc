#include "tools/spillway/manual/program_manual.h"

namespace spillway {
namespace {

FlagManual DescribeOption(const CLI::Option& option) {
  FlagManual flag = {.name = option.get_name(),
                     .value = option.get_type_name(),
                     .help = option.get_description(),
                     .group = option.get_group(),
                     .is_required = option.get_required(),
                     .value_is_optional = option.get_items_expected_min() == 0};
  if (!option.get_snames().empty()) {
    flag.short_name = "-" + option.get_snames().front();
  }
  flag.offers = OffersOf(flag.value);
  return flag;
}

}  // namespace

CommandManual DescribeCommand(const std::string& name, const CLI::App& app) {
  CommandManual command = {.name = name, .summary = app.get_description()};
  for (const CLI::Option* option : app.get_options()) {
    auto& place = option->nonpositional() ? command.flags : command.arguments;
    place.push_back(DescribeOption(*option));
    place.back().is_rest = option->get_group() == kRestGroup;
  }
  return command;
}

std::vector<std::string> FirstWords(const ProgramManual& program) {
  std::vector<std::string> words;
  for (const CommandManual& command : program.commands) {
    words.push_back(command.name);
  }
  for (const FlagManual& flag : program.flags) words.push_back(flag.name);
  return words;
}

}  // namespace spillway

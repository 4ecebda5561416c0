#include "tools/spillway/manual/flag_groups.h"

#include <algorithm>

namespace spillway {
namespace {

bool MeansTheSame(const FlagManual& a, const FlagManual& b) {
  return a.name == b.name && a.value == b.value && a.help == b.help;
}

bool HasName(const FlagGroup& group, const std::string& name) {
  return std::ranges::any_of(group.flags, [&](const SharedFlag& shared) {
    return shared.flag.name == name;
  });
}

// The group of a flag: that of flags with the same name, else that of its
// heading.
FlagGroup& FindGroup(const FlagManual& flag, std::vector<FlagGroup>& groups) {
  for (FlagGroup& group : groups) {
    if (HasName(group, flag.name)) return group;
  }
  for (FlagGroup& group : groups) {
    if (group.heading == flag.group) return group;
  }
  return groups.emplace_back(FlagGroup{.heading = flag.group});
}

void AddToGroup(const FlagManual& flag, const std::string& command,
                FlagGroup& group) {
  auto place = group.flags.end();
  for (auto each = group.flags.begin(); each != group.flags.end(); ++each) {
    if (MeansTheSame(each->flag, flag)) {
      each->commands.push_back(command);
      return;
    }
    if (each->flag.name == flag.name) place = each + 1;
  }
  group.flags.insert(place, {.flag = flag, .commands = {command}});
}

}  // namespace

std::vector<FlagGroup> GroupFlags(const ProgramManual& program) {
  std::vector<FlagGroup> groups;
  for (const CommandManual& command : program.commands) {
    for (const FlagManual& flag : command.flags) {
      AddToGroup(flag, command.name, FindGroup(flag, groups));
    }
  }
  return groups;
}

}  // namespace spillway

// A program of two commands, with one instance of everything that a formatter
// distinguishes.
#ifndef SPILLWAY_TESTS_TOOLS_MANUAL_SMALL_PROGRAM_H_
#define SPILLWAY_TESTS_TOOLS_MANUAL_SMALL_PROGRAM_H_

#include "tools/spillway/manual/program_manual.h"

namespace spillway::testing {

inline ProgramManual SmallProgram() {
  const FlagManual help = {.name = "--help",
                           .short_name = "-h",
                           .help = "print this text",
                           .group = "Help"};
  const FlagManual pace = {.name = "--pace",
                           .value = "slow|fast",
                           .help = "the dog's [own]",
                           .group = "Walk",
                           .is_required = true,
                           .offers = {.words = {"slow", "fast"}}};
  const FlagManual wet = {.name = "--wet",
                          .value = "true|false",
                          .help = "in rain",
                          .group = "Walk",
                          .value_is_optional = true,
                          .offers = {.words = {"true", "false"}}};
  const FlagManual map = {.name = "--map",
                          .value = "PLACE|FILE",
                          .help = "where to",
                          .group = "Walk",
                          .offers = {.words = {"park"}, .files = true}};
  const FlagManual home = {.name = "--home",
                           .value = "FOLDER",
                           .help = "kennel",
                           .group = "Walk",
                           .offers = {.folders = true}};
  const FlagManual miles = {
      .name = "--miles", .value = "N", .help = "how far", .group = "Walk"};
  const FlagManual trick = {.name = "trick",
                            .value = "sit|roll",
                            .help = "to do",
                            .is_required = true,
                            .offers = {.words = {"sit", "roll"}}};
  return {.name = "dog",
          .version = "1.2.3",
          .summary = "a pet",
          .flags = {{.name = "--version", .help = "Print it."}},
          .commands = {{.name = "walk",
                        .summary = "Go out.",
                        .flags = {help, pace, wet, map, home, miles}},
                       {.name = "play",
                        .summary = "Do a trick: now.",
                        .flags = {help, wet},
                        .arguments = {trick}}},
          .exit_statuses = {{0, "Done."}, {2, "Bad dog."}}};
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TOOLS_MANUAL_SMALL_PROGRAM_H_

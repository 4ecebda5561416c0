#include "tools/spillway/manual/help_text.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/manual/small_program.h"
#include "tests/tools/run_program.h"
#include "tools/spillway/command_line.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using testing::ProgramRun;
using testing::RunProgram;

TEST(HelpTextTest, ShortAndLong) {
  const ProgramManual program = testing::SmallProgram();
  CommandManual walk = program.commands[0];
  walk.examples = {"dog walk --pace slow"};
  walk.common_flags = {"--pace"};
  walk.flags[5].help =
      "how far, in miles of 1760 yards each, which is a little over one and a "
      "half kilometres";
  EXPECT_EQ(FormatHelp(program, walk, HelpLength::kShort),
            R"(Go out.

Usage: dog walk [FLAGS]

Example:
  dog walk --pace slow

Common flags:
  --pace slow|fast          the dog's [own]; required

dog walk --help_all lists all 6 flags.
)");
  EXPECT_EQ(FormatHelp(program, walk, HelpLength::kLong),
            R"(Go out.

Usage: dog walk [FLAGS]

Example:
  dog walk --pace slow

Walk:
  --pace slow|fast          the dog's [own]; required
  --wet [true|false]        in rain
  --map PLACE|FILE          where to
  --home FOLDER             kennel
  --miles N                 how far, in miles of 1760 yards each, which is a
                            little over one and a half kilometres

Help:
  -h, --help                print this text
)");
  EXPECT_EQ(FormatHelp(program, program.commands[1], HelpLength::kShort),
            R"(Do a trick: now.

Usage: dog play sit|roll [FLAGS]

Arguments:
  sit|roll                  to do

Walk:
  --wet [true|false]        in rain

Help:
  -h, --help                print this text
)");
}

TEST(HelpTest, EveryCommandHasOne) {
  for (const char* command : {"bench", "edit", "inspect", "models", "pack",
                              "profile", "run", "simulate", "train", "tune"}) {
    SCOPED_TRACE(command);
    const ProgramRun run = RunProgram({command, "--help"});
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_THAT(run.out, HasSubstr("--json"));
    EXPECT_THAT(run.err, IsEmpty());
    EXPECT_EQ(RunProgram({command, "-h"}).out, run.out);
    EXPECT_EQ(RunProgram({"help", command}).out, run.out);
    EXPECT_THAT(RunProgram({"help"}).out, HasSubstr(command));
  }
}

TEST(HelpTest, FitsATerminal) {
  for (const char* length : {"--help", "--help_all"}) {
    for (const CommandManual& command : DescribeProgram().commands) {
      if (command.name == "help") continue;
      std::istringstream text(RunProgram({command.name, length}).out);
      for (std::string line; std::getline(text, line);) {
        const bool is_example = line.starts_with("  spillway");
        const bool is_one_word = line.rfind(' ') < line.find_first_not_of(' ');
        if (is_example || is_one_word) continue;
        EXPECT_LE(line.size(), 80U) << command.name << ": " << line;
      }
    }
  }
}

TEST(HelpTest, ItsExamplesCanBeParsed) {
  for (const CommandManual& command : DescribeProgram().commands) {
    for (const std::string& example : command.examples) {
      SCOPED_TRACE(example);
      std::istringstream words(example);
      std::vector<std::string> arguments{
          std::istream_iterator<std::string>(words), {}};
      ASSERT_EQ(arguments.at(0), "spillway");
      arguments.erase(arguments.begin());
      arguments.emplace_back("--help");  // parsed but not run
      EXPECT_EQ(RunProgram(arguments).exit_status, 0);
    }
  }
}

TEST(HelpTest, TheLongOneNamesEveryFlagOnce) {
  for (const CommandManual& command : DescribeProgram().commands) {
    if (command.name == "help") continue;
    SCOPED_TRACE(command.name);
    const std::string text = RunProgram({command.name, "--help_all"}).out;
    for (const FlagManual& flag : command.flags) {
      const std::string begin =
          flag.short_name.empty()
              ? "\n  " + flag.name
              : fmt::format("\n  {}, {}", flag.short_name, flag.name);
      const size_t found =
          std::min(text.find(begin + " "), text.find(begin + "\n"));
      EXPECT_NE(found, text.npos) << flag.name;
    }
    EXPECT_LE(RunProgram({command.name, "--help"}).out.size(), text.size());
    for (const std::string& name : command.common_flags) {
      EXPECT_THAT(command.flags, Contains(Field(&FlagManual::name, name)));
    }
  }
}

TEST(HelpTest, TheVersionIsANumber) {
  const ProgramRun run = RunProgram({"--version"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.out, MatchesRegex("spillway [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace spillway

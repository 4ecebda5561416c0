#include "tools/spillway/manual/man_page.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/file.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/manual/small_program.h"
#include "tests/tools/run_program.h"
#include "tools/spillway/command_line.h"
#include "tools/spillway/manual/man_page_prose.h"

namespace spillway {
namespace {

using ::spillway::testing::RunProgram;
using ::spillway::testing::SmallProgram;
using ::spillway::testing::SourcePath;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RoffEscapedTest, NothingIsARequestOrATypographicSign) {
  EXPECT_EQ(RoffEscaped("plain words"), "plain words");
  EXPECT_EQ(RoffEscaped(".dot and a.b"), "\\&.dot and a.b");
  EXPECT_EQ(RoffEscaped("'tis"), "\\(aqtis");
  EXPECT_EQ(RoffEscaped("--a \\n \"~`^"), "\\-\\-a \\en \\(dq\\(ti\\(ga\\(ha");
}

TEST(ManPageTest, BeginsWithNameAndVersion) {
  EXPECT_THAT(FormatManPage(SmallProgram()),
              StartsWith(R"(.\" Written by `dog manual`.
.TH DOG 1 "" "dog 1.2.3" "User Commands"
.nh
.ad l
.SH NAME
dog \- a pet
.SH SYNOPSIS
\fBdog\fR \fICOMMAND\fR [\fIFLAGS\fR]
)"));
}

TEST(ManPageTest, CommandsNameWhatTheyRequire) {
  EXPECT_THAT(FormatManPage(SmallProgram()), HasSubstr(R"(
.SH COMMANDS
.TP
\fBdog walk\fR \fB\-\-pace\fR \fBslow\fR|\:\fBfast\fR [\fIFLAGS\fR]
Go out.
.TP
\fBdog play\fR \fBsit\fR|\:\fBroll\fR [\fIFLAGS\fR]
Do a trick: now.
.TP
\fBdog\fR \fB\-\-version\fR
Print it.
)"));
}

TEST(ManPageTest, FlagsStandInGroupsWithTheirCommands) {
  EXPECT_THAT(FormatManPage(SmallProgram()), HasSubstr(R"(
.SS Help
.TP
\fB\-h\fR, \fB\-\-help\fR
print this text
.SS Walk
.TP
\fB\-\-pace\fR \fBslow\fR|\:\fBfast\fR
the dog\(aqs [own] [walk]
.TP
\fB\-\-wet\fR \fBtrue\fR|\:\fBfalse\fR
in rain
.TP
\fB\-\-map\fR \fIPLACE\fR|\:\fIFILE\fR
where to [walk]
)"));
}

TEST(ManPageTest, ExitStatusesAreThoseOfTheProgram) {
  EXPECT_THAT(FormatManPage(SmallProgram()), HasSubstr(R"(
.SH EXIT STATUS
.TP
\fB0\fR
Done.
.TP
\fB2\fR
Bad dog.
)"));
}

TEST(ManualCommandTest, PrintsThePageOfTheProgram) {
  EXPECT_EQ(RunProgram({"manual"}).out, FormatManPage(DescribeProgram()));
}

const CommandManual* FindCommandManual(const ProgramManual& program,
                                       const std::string& name) {
  const auto found =
      std::ranges::find(program.commands, name, &CommandManual::name);
  return found == program.commands.end() ? nullptr : &*found;
}

// A renamed flag must be renamed in the examples too.
TEST(ManualCommandTest, ExamplesUseFlagsOfTheProgram) {
  const ProgramManual program = DescribeProgram();
  for (const ManPageExample& example : ManPageExamples()) {
    std::istringstream words{std::string(example.command)};
    std::string word;
    std::string name;
    words >> word >> name;
    EXPECT_EQ(word, "spillway");
    const CommandManual* command = FindCommandManual(program, name);
    ASSERT_NE(command, nullptr) << name;
    while (words >> word) {
      if (!word.starts_with("--")) continue;
      EXPECT_TRUE(std::ranges::count(command->flags, word, &FlagManual::name))
          << name << " " << word;
    }
  }
}

TEST(ManualCommandTest, TheDocumentHasTheSameCommandsAndExitStatuses) {
  const ProgramManual program = DescribeProgram();
  ASSERT_OK_AND_ASSIGN(const std::string document,
                       ReadFile(SourcePath("docs/cli.md")));
  for (const CommandManual& command : program.commands) {
    if (command.name == "help") continue;
    EXPECT_THAT(document, HasSubstr(fmt::format("\n## {}\n", command.name)));
  }
  for (const ExitStatusManual& status : program.exit_statuses) {
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | ", status.status)));
  }
}

}  // namespace
}  // namespace spillway

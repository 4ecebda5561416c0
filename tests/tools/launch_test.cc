// `spillway launch` with ranks of this program.
#include <csignal>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunningProgram;
using testing::RunProgram;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

struct BadLaunch {
  std::string name = {};  // of the test
  Words arguments = {};   // after launch
  std::string message = {};
};

class BadLaunchTest : public ::testing::TestWithParam<BadLaunch> {};

TEST_P(BadLaunchTest, IsRefusedInOneLine) {
  Words arguments = GetParam().arguments;
  arguments.insert(arguments.begin(), "launch");
  EXPECT_THAT(RunProgram(arguments), Refuses(2, HasSubstr(GetParam().message)));
}

std::vector<BadLaunch> BadLaunches() {
  const std::string from_nothing =
      "--max_restarts: a restart would begin from nothing";
  return {
      {"NoRanks", {"--", "train"}, "--num_ranks is required"},
      {"ZeroRanks",
       {"-n", "0", "--", "train"},
       "--num_ranks: \"0\" is not an integer from 1 to 1024"},
      {"TooManyRanks",
       {"--num_ranks=1025", "--", "train"},
       "\"1025\" is not an integer from 1 to 1024"},
      {"NoCommand", {"-n", "2"}, "there is no command for the ranks"},
      {"NothingAfterTheDashes",
       {"-n", "2", "--"},
       "there is no command for the ranks; it follows --"},
      {"NoDashes",
       {"-n", "2", "train"},
       "unexpected argument \"train\"; -- goes before it"},
      {"AnotherCommand",
       {"-n", "2", "--", "tune", "--model", "lenet"},
       "ranks run train or bench, not \"tune\""},
      {"ItselfAgain",
       {"-n", "2", "--", "launch", "-n", "2"},
       "ranks run train or bench, not \"launch\""},
      {"ItsFlagAfterTheDashes",
       {"--", "train", "-n", "2"},
       "--num_ranks is required"},
      {"RestartsFromNothing",
       {"-n", "2", "--max_restarts", "1", "--", "train", "--resume", "file"},
       from_nothing},
      {"RestartsOfBench",
       {"-n", "2", "--max_restarts", "1", "--", "bench", "--resume", "auto"},
       from_nothing},
      {"NegativeRestarts",
       {"-n", "2", "--max_restarts=-1", "--", "train"},
       "--max_restarts"},
      {"NegativeGrace", {"-n", "2", "--grace=-1", "--", "train"}, "--grace"},
      {"RunFolderIsAFile",
       {"-n", "2", "--run_dir", "/dev/null", "--", "train"},
       "--run_dir: /dev/null cannot be written: Not a directory"},
      {"LogFolderInNoFolder",
       {"-n", "2", "--log_dir", "/dev/null/logs", "--", "train"},
       "--log_dir: /dev/null/logs cannot be written"},
      {"DashesOfAnotherCommand", {"--", "models"}, "--num_ranks is required"},
  };
}

INSTANTIATE_TEST_SUITE_P(, BadLaunchTest, ::testing::ValuesIn(BadLaunches()),
                         [](const auto& info) { return info.param.name; });

TEST(LaunchCommandTest, OnlyLaunchTakesDashes) {
  EXPECT_THAT(RunProgram({"models", "--", "x"}),
              Refuses(2, HasSubstr("unknown flag --")));
}

TEST(LaunchCommandTest, IsDescribed) {
  EXPECT_THAT(RunProgram({"help", "launch"}).out,
              AllOf(HasSubstr("Usage: spillway launch [FLAGS] -- "
                              "train|bench ...\n"),
                    HasSubstr("  -n, --num_ranks N ")));
  EXPECT_THAT(RunProgram({"manual"}).out,
              HasSubstr("\\fBspillway launch\\fR \\fB\\-n\\fR, "
                        "\\fB\\-\\-num_ranks\\fR \\fIN\\fR [\\fIFLAGS\\fR] "
                        "\\fB\\-\\-\\fR \\fBtrain\\fR|\\:\\fBbench\\fR ...\n"));
  EXPECT_THAT(RunProgram({"completion", "bash"}).out,
              HasSubstr("--num_ranks | -n"));
  EXPECT_THAT(RunProgram({"completion", "zsh"}).out,
              AllOf(HasSubstr("'(-n --num_ranks)'{-n,--num_ranks=}'["),
                    HasSubstr("'*:train|bench:(train bench)'")));
  EXPECT_THAT(RunProgram({"completion", "fish"}).out,
              HasSubstr("-l num_ranks -s n -x"));
}

class LaunchRunTest : public ::testing::Test {
 protected:
  LaunchRunTest() { testing::WriteTinyData(folder_.path()); }

  // `launch` before the dashes, then train with these flags.
  ProgramRun Run(const Words& launch, const FlagValues& flags) const {
    return RunProgram(Arguments(launch, flags));
  }
  Words Arguments(const Words& launch, const FlagValues& flags) const {
    FlagValues all = flags;
    all.insert({{"--model", "mnist_deep"},
                {"--data", "mnist"},
                {"--data_dir", folder_.path()},
                {"--batch_size", "16"},
                {"--threads", "1"},
                {"--device", "cpu"}});
    Words arguments = {"launch"};
    arguments.insert(arguments.end(), launch.begin(), launch.end());
    arguments.emplace_back("--");
    const Words train = testing::ToArguments("train", all);
    arguments.insert(arguments.end(), train.begin(), train.end());
    return arguments;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LaunchRunTest, RanksTrain) {
  const std::string logs = folder_.File("logs");
  const ProgramRun run =
      Run({"-n", "2", "--log_dir", logs}, {{"--num_steps", "2"}});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  // Rank 0 prints for all.
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("\n[0] checksum "), HasSubstr("\n[0] rank 1 "),
                    Not(HasSubstr("[1]"))));
  EXPECT_THAT(run.err, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::string log, ReadFile(logs + "/rank_0.log"));
  EXPECT_THAT(log, HasSubstr("\nchecksum "));
  ASSERT_OK_AND_ASSIGN(const std::string other, ReadFile(logs + "/rank_1.log"));
  EXPECT_EQ(other, "");
}

TEST_F(LaunchRunTest, TheStatusOfARankIsTheStatus) {
  const ProgramRun run = Run({"-n", "2"}, {{"--device_memory", "1KiB"}});
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_THAT(run.err, HasSubstr("ended with exit status 3\n"));
}

TEST_F(LaunchRunTest, BadInputIsNotTriedAgain) {
  const ProgramRun run = Run({"-n", "1", "--max_restarts", "5"},
                             {{"--resume", "auto"}, {"--batch_size", "0"}});
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err,
              HasSubstr("\nspillway: rank 0 ended with exit status 2, which "
                        "would come again\n"));
}

TEST_F(LaunchRunTest, RestartsNeedAndTakeResume) {
  const std::string checkpoint = folder_.File("saved");
  const ProgramRun run = Run(
      {"--num_ranks=1", "--max_restarts=1", "--run_dir", folder_.File("run")},
      {{"--resume", "auto"},
       {"--checkpoint", checkpoint},
       {"--num_steps", "2"}});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(ReadFile(checkpoint), testing::IsOk());
}

TEST_F(LaunchRunTest, ASingleRankWritesAsItDoesAlone) {
  EXPECT_EQ(RunProgram({"launch", "-n", "1", "--", "train", "--help"}).out,
            RunProgram({"train", "--help"}).out);
  const ProgramRun run =
      Run({"-n", "1"}, {{"--num_steps", "2"}, {"--json", "-"}});
  EXPECT_THAT(run.out, StartsWith("{"));
}

TEST_F(LaunchRunTest, CtrlCLetsTheRanksFinish) {
  RunningProgram program(
      {.arguments = Arguments({"-n", "2"}, {{"--num_epochs", "1000000"}})});
  ASSERT_TRUE(program.WaitFor("[0]     1    "));
  program.Send(SIGINT);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, 130);
  EXPECT_THAT(run.out, HasSubstr("[0] interrupted  after "));
  EXPECT_THAT(run.err, HasSubstr("\nspillway: interrupted by SIGINT\n"));
}

}  // namespace
}  // namespace spillway

// Ranks that end, fail, are ended and are started again.
#include "comm/launch/launch.h"

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/comm/launch/launched_script.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::StatusIs;

class LaunchTest : public testing::LaunchedScriptTest {
 protected:
  std::vector<std::string> Lines(const std::string& name) const {
    std::istringstream text(Content(name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(LaunchTest, AllRanksSucceed) {
  LaunchSpec spec = Script("show ended_$rank");
  spec.ranks = 5;
  const LaunchResult result = MustRun(spec);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.restarts, 0);
  for (int rank = 0; rank < 5; ++rank) Await(fmt::format("ended_{}", rank));
  EXPECT_THAT(Error(), IsEmpty());
}

TEST_F(LaunchTest, TheExitStatusIsThatOfTheFailedRank) {
  const LaunchResult result = MustRun(Script("[ $rank != 1 ] || exit 3"));
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_EQ(result.reason, "rank 1 ended with exit status 3");
}

TEST_F(LaunchTest, AKilledRankIsALostOne) {
  const LaunchResult result = MustRun(Script("[ $rank != 1 ] || kill -9 $$"));
  EXPECT_EQ(result.exit_status, 76);
  EXPECT_EQ(result.reason, "rank 1 was ended by SIGKILL");
}

TEST_F(LaunchTest, TheFirstFailureDecidesAndEndsTheOthers) {
  LaunchSpec spec = Script(R"(
    if [ $rank = 1 ]; then await ready; exit 7; fi
    trap 'show asked; exit 9' TERM
    echo $$ > process; show ready; forever)");
  spec.grace = std::chrono::hours(1);
  const LaunchResult result = MustRun(spec);
  EXPECT_EQ(result.exit_status, 7);
  Await("asked");
  EXPECT_FALSE(testing::IsRunning(AwaitProcess("process")));
  EXPECT_THAT(Error(), HasSubstr("spillway: rank 1 ended with exit status 7; "
                                 "the other ranks are ended\n"));
}

TEST_F(LaunchTest, ARankThatIgnoresSigtermIsKilledAfterTheGrace) {
  const LaunchResult result = MustRun(Script(R"(
    if [ $rank = 1 ]; then await ready; exit 5; fi
    trap '' TERM
    echo $$ > process; show ready; forever)"));
  EXPECT_EQ(result.exit_status, 5);
  EXPECT_EQ(result.reason, "rank 1 ended with exit status 5");
  EXPECT_FALSE(testing::IsRunning(AwaitProcess("process")));
  EXPECT_THAT(Error(), HasSubstr("spillway: rank 0 has not ended 0.2 s after "
                                 "SIGTERM; it is killed\n"));
}

TEST_F(LaunchTest, WhatARankLeavesRunningIsKilled) {
  // It keeps the rank's pipes open.
  EXPECT_EQ(MustRun(Script("sleep 1000 & echo $! > process_$rank; exit 0"))
                .exit_status,
            0);
  AwaitEnd(AwaitProcess("process_0"));
  AwaitEnd(AwaitProcess("process_1"));
}

TEST_F(LaunchTest, RanksStartAgainUntilTheySucceed) {
  LaunchSpec spec = Script(R"(
    echo $SPILLWAY_RESTART $SPILLWAY_RUN_ID >> starts_$rank
    [ $rank = 0 ] || [ $SPILLWAY_RESTART -ge 2 ] || kill -9 $$)");
  spec.max_restarts = 5;
  const LaunchResult result = MustRun(spec);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.restarts, 2);
  EXPECT_THAT(
      Error(),
      AllOf(HasSubstr("spillway: rank 1 was ended by SIGKILL; all ranks are "
                      "started again (1 of 5)\n"),
            HasSubstr("again (2 of 5)\n"), Not(HasSubstr("(3 of 5)"))));

  const std::vector<std::string> starts = Lines("starts_1");
  ASSERT_EQ(starts.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(starts[i].substr(0, 2), fmt::format("{} ", i));
    EXPECT_EQ(starts[i].size(), 34U);  // 128 bits
    EXPECT_NE(starts[i].substr(2), starts[(i + 1) % 3].substr(2));
  }
  // A rank that succeeded may have been ended before it wrote.
  EXPECT_EQ(Lines("starts_0").back(), starts.back());
}

TEST_F(LaunchTest, RestartsAreLimited) {
  LaunchSpec spec = Script("echo >> starts; kill -9 $$");
  spec.ranks = 1;
  spec.max_restarts = 2;
  const LaunchResult result = MustRun(spec);
  EXPECT_EQ(result.exit_status, 76);
  EXPECT_EQ(result.reason, "rank 0 was ended by SIGKILL; restarts: 2");
  EXPECT_EQ(result.restarts, 2);
  EXPECT_EQ(Lines("starts").size(), 3U);
}

TEST_F(LaunchTest, BadInputAndTooLittleMemoryAreNotTriedAgain) {
  for (const int status : {2, 3}) {
    LaunchSpec spec = Script(fmt::format("exit {}", status));
    spec.max_restarts = 3;
    const LaunchResult result = MustRun(spec);
    EXPECT_EQ(result.exit_status, status);
    EXPECT_EQ(result.restarts, 0);
    EXPECT_THAT(result.reason, HasSubstr(", which would come again"));
  }
}

TEST_F(LaunchTest, RanksKnowTheirRun) {
  MustRun(Script(R"(
    mode=$(stat -c %a "$SPILLWAY_RENDEZVOUS")
    echo $SPILLWAY_RANK $SPILLWAY_WORLD_SIZE $SPILLWAY_LOCAL_RANK \
      $SPILLWAY_LOCAL_WORLD_SIZE $SPILLWAY_RESTART $mode > facts_$rank
    echo "$SPILLWAY_RENDEZVOUS" > folder_$rank
    echo $SPILLWAY_RUN_ID > id_$rank
    read input || echo empty > input_$rank)"));
  EXPECT_EQ(Content("facts_0"), "0 2 0 2 0 700\n");
  EXPECT_EQ(Content("facts_1"), "1 2 1 2 0 700\n");
  EXPECT_EQ(Content("id_0"), Content("id_1"));
  EXPECT_EQ(Content("input_1"), "empty\n");
  EXPECT_EQ(Content("folder_0"), Content("folder_1"));
  EXPECT_FALSE(std::filesystem::exists(Lines("folder_0").at(0)));
}

TEST_F(LaunchTest, AGivenRunFolderIsMadeAndStays) {
  LaunchSpec spec = Script("show \"$SPILLWAY_RENDEZVOUS/rank_$rank\"");
  spec.run_folder = folder_.File("run");
  EXPECT_EQ(MustRun(spec).exit_status, 0);
  EXPECT_EQ(MustRun(spec).exit_status, 0);
  Await("run/rank_0");
  Await("run/rank_1");
}

TEST_F(LaunchTest, WhatCannotBeStartedIsNamed) {
  EXPECT_THAT(Run({.command = {folder_.File("nothing")}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/nothing cannot be started: No such file")));
  EXPECT_THAT(Run({.ranks = 0, .command = {"/bin/true"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0")));
  EXPECT_THAT(Run({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("no command")));
}

TEST_F(LaunchTest, AFolderThatCannotBeWrittenIsNamed) {
  LaunchSpec spec = Script("show started");
  spec.run_folder = "/dev/null";
  EXPECT_THAT(Run(spec),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("run_folder: /dev/null cannot be written: "
                                 "Not a directory")));
  spec.run_folder = "";
  spec.log_folder = folder_.File("no/folder");
  EXPECT_THAT(Run(spec), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("log_folder: ")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("started")));
}

}  // namespace
}  // namespace spillway

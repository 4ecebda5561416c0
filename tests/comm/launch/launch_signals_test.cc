// Signals to the launcher, which is a process of its own here.
#include "comm/launch/launch_signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/comm/launch/launched_script.h"

namespace spillway {
namespace {

using ::testing::AnyOf;
using testing::IsRunning;

class LaunchSignalsTest : public testing::LaunchedScriptTest {
 protected:
  ~LaunchSignalsTest() override {
    if (launcher_ <= 0) return;
    kill(launcher_, SIGKILL);
    waitpid(launcher_, nullptr, 0);
  }

  // Its output goes to the files of Run.
  void Start(const LaunchSpec& spec) {
    launcher_ = fork();
    ASSERT_GE(launcher_, 0);
    if (launcher_ != 0) return;
    // Tests in the background of a script start with SIGINT ignored.
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    const auto result = Run(spec);
    _exit(result.ok() ? result->exit_status : 99);
  }

  void Send(int signal) const { EXPECT_EQ(kill(launcher_, signal), 0); }

  int WaitForExitStatus() {
    int status = 0;
    EXPECT_EQ(waitpid(launcher_, &status, 0), launcher_);
    launcher_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // The ranks' processes.
  void AwaitRanks() {
    for (int rank = 0; rank < 2; ++rank) {
      processes_[rank] = AwaitProcess(fmt::format("process_{}", rank));
    }
  }

  pid_t launcher_ = -1;
  pid_t processes_[2] = {};
};

TEST_F(LaunchSignalsTest, AreOnceForRanksThatMayFinish) {
  Start(Script(R"(
    trap 'show asked_$rank; await finished; echo end; exit 130' INT
    echo $$ > process_$rank; forever)"));
  AwaitRanks();
  Send(SIGINT);
  Await("asked_0");
  Await("asked_1");
  // More than the grace: there is no limit.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(IsRunning(processes_[0]));
  ASSERT_TRUE(WriteFileAtomically(folder_.File("finished"), "").ok());
  EXPECT_EQ(WaitForExitStatus(), 130);
  EXPECT_THAT(Output(), AnyOf("[0] end\n[1] end\n", "[1] end\n[0] end\n"));
}

TEST_F(LaunchSignalsTest, EndRanksThatDoNotCatchThem) {
  LaunchSpec spec = Script("echo $$ > process_$rank; forever");
  spec.max_restarts = 3;
  Start(spec);
  AwaitRanks();
  Send(SIGTERM);
  EXPECT_EQ(WaitForExitStatus(), 143);
  EXPECT_FALSE(IsRunning(processes_[0]));
  EXPECT_FALSE(IsRunning(processes_[1]));
  EXPECT_EQ(Error(), "");
}

TEST_F(LaunchSignalsTest, TheSecondOneKills) {
  Start(Script(R"(
    trap 'show asked_$rank' TERM
    echo $$ > process_$rank; forever)"));
  AwaitRanks();
  Send(SIGTERM);
  Await("asked_0");
  Await("asked_1");
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  Send(SIGTERM);
  EXPECT_EQ(WaitForExitStatus(), 143);
  EXPECT_FALSE(IsRunning(processes_[0]));
  EXPECT_FALSE(IsRunning(processes_[1]));
}

TEST_F(LaunchSignalsTest, AFileThatCouldNotBeWrittenCounts) {
  Start(Script(R"(
    trap 'exit $((130 - 128 * rank))' INT
    echo $$ > process_$rank; forever)"));
  AwaitRanks();
  Send(SIGINT);
  EXPECT_EQ(WaitForExitStatus(), 2);
}

TEST_F(LaunchSignalsTest, RanksEndWithTheLauncher) {
  Start(Script("trap '' TERM INT HUP; echo $$ > process_$rank; forever"));
  AwaitRanks();
  Send(SIGKILL);
  EXPECT_EQ(WaitForExitStatus(), -SIGKILL);
  testing::LaunchedScriptTest::AwaitEnd(processes_[0]);
  testing::LaunchedScriptTest::AwaitEnd(processes_[1]);
}

// The launcher sees both ends at once, as on a busy machine.
TEST_F(LaunchSignalsTest, TheCauseDecidesNotItsConsequence) {
  Start(Script(R"(
    echo $$ > process_$rank
    await go; exit $((76 - 72 * rank)))"));
  AwaitRanks();
  Send(SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(launcher_, &status, WUNTRACED), launcher_);
  ASSERT_TRUE(WriteFileAtomically(folder_.File("go"), "").ok());
  testing::LaunchedScriptTest::AwaitEnd(processes_[0]);
  testing::LaunchedScriptTest::AwaitEnd(processes_[1]);
  Send(SIGCONT);
  EXPECT_EQ(WaitForExitStatus(), 4);
}

TEST_F(LaunchSignalsTest, ActionsAreAsBeforeAfterwards) {
  struct sigaction before = {};
  struct sigaction after = {};
  sigaction(SIGCHLD, nullptr, &before);
  MustRun(Script("true"));
  sigaction(SIGCHLD, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace spillway

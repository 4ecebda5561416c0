// `train` on several ranks, which `launch` starts as processes.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "comm/open_communicator.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tools/launched_training.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AnyOf;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::ProgramStart;
using testing::RunningProgram;
using testing::StressSetting;
using testing::ToArguments;
using testing::With;
using Json = nlohmann::ordered_json;

using WorkersTest = testing::LaunchedTraining;

// Two addends have one sum in any order; more of them have with
// --deterministic_reduce.
TEST_F(WorkersTest, TrainAsOneRankWithAsManyMicroBatches) {
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    const Json alone = Alone(ranks, {});
    const Json json = LaunchForJson(
        ranks, {{"--deterministic_reduce", ranks > 2 ? "true" : "false"}});
    EXPECT_EQ(json["losses"], alone["losses"]);
    EXPECT_EQ(json["checksum"], alone["checksum"]);
    EXPECT_EQ(json["world_size"], ranks);
    EXPECT_EQ(json["rank"], 0);
    ASSERT_EQ(json["ranks"].size(), static_cast<size_t>(ranks));
    for (const Json& rank : json["ranks"]) {
      EXPECT_EQ(rank["checksum"], json["checksum"]);
      EXPECT_EQ(rank["peak_device_bytes"]["predicted"],
                rank["peak_device_bytes"]["measured"]);
    }
    EXPECT_EQ(json["comm"]["backend"], "gloo");
    EXPECT_GT(json["comm"]["bytes"], 0);
    EXPECT_GT(json["comm"]["buckets"].size(), 0U);
  }
}

// A hundred updates, after each of which all variables are compared.
class ReplicasTest : public WorkersTest {
 protected:
  static FlagValues Hundred(const FlagValues& more = {}) {
    return With({{"--num_steps", "100"},
                 {"--batch_size", "4"},
                 {"--test_iter", "1"},
                 {"--check_replicas", "1"}},
                more);
  }

  static void ExpectEqualReplicas(const Json& result, size_t count) {
    EXPECT_EQ(result["steps_done"], 100);
    ASSERT_EQ(result["ranks"].size(), count);
    for (const Json& rank : result["ranks"]) {
      EXPECT_EQ(rank["checksum"], result["checksum"]);
    }
  }
};

TEST_F(ReplicasTest, AreEqualByGloo) {
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    ExpectEqualReplicas(LaunchForJson(ranks, Hundred()),
                        static_cast<size_t>(ranks));
  }
}

TEST_F(ReplicasTest, AreEqualByThreads) {
  for (const char* devices : {"2", "3", "4"}) {
    SCOPED_TRACE(devices);
    ExpectEqualReplicas(TrainForJson(Hundred({{"--num_devices", devices}})),
                        std::stoul(devices));
  }
}

TEST_F(ReplicasTest, AreEqualByMpiAndThoseOfGloo) {
  if (std::ranges::count(CommBackends(), "mpi") == 0) {
    GTEST_SKIP() << "MPI is not built in";
  }
  // Ranks may share cores, and a container's user may be root.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
  for (const char* ranks : {"2", "3"}) {
    SCOPED_TRACE(ranks);
    const ProgramRun run =
        RunningProgram({.arguments = ToArguments("train", Flags(Hundred())),
                        .under = {"/usr/bin/env", "mpirun", "--oversubscribe",
                                  "-n", ranks}})
            .Wait();
    ASSERT_EQ(run.exit_status, 0) << run.err;
    const Json by_mpi = Result();
    EXPECT_EQ(by_mpi["comm"]["backend"], "mpi");
    ExpectEqualReplicas(by_mpi, std::stoul(ranks));
    if (std::stoi(ranks) > 2) continue;
    EXPECT_EQ(LaunchForJson(2, Hundred())["checksum"], by_mpi["checksum"]);
  }
}

TEST_F(WorkersTest, EachRankHasItsOwnBudget) {
  const FlagValues flags = {{"--batch_size", "32"}, {"--bucket_mb", "0.25"}};
  const Json free = LaunchForJson(2, flags);
  const int64_t peak = free["peak_device_bytes"]["measured"];
  const int64_t budget = peak - 150'000;
  const Json tight = LaunchForJson(
      2, With(flags, {{"--device_memory",
                       std::to_string(peak) + "," + std::to_string(budget)},
                      {"--lms", "auto"}}));
  EXPECT_EQ(tight["losses"], free["losses"]);
  EXPECT_EQ(tight["checksum"], free["checksum"]);
  const Json& second = tight["ranks"][1]["peak_device_bytes"];
  EXPECT_LE(second["measured"], budget);
  EXPECT_EQ(second["measured"], second["predicted"]);
  EXPECT_THAT(Launch(2, Flags({{"--device_memory", "1G,2G,3G"}})).err,
              HasSubstr("has 3 budgets for a run of 2 ranks"));
}

TEST_F(WorkersTest, ResumeWithTheStateOfRankZero) {
  const Json whole = LaunchForJson(2, {});
  LaunchForJson(2, {{"--num_steps", "4"}, {"--checkpoint", Path("state")}});
  const Json rest = LaunchForJson(2, {{"--resume", Path("state")}});
  EXPECT_EQ(rest["steps_done"], 3);
  EXPECT_EQ(rest["checksum"], whole["checksum"]);
}

TEST_F(WorkersTest, EveryRankWritesItsResultIfAsked) {
  std::filesystem::create_directory(Path("ranks"));
  LaunchForJson(2, {{"--json_all_ranks", Path("ranks")}});
  for (const int rank : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(
        const std::string text,
        ReadFile(Path("ranks/rank_" + std::to_string(rank) + ".json")));
    EXPECT_EQ(Json::parse(text)["rank"], rank);
  }
}

TEST_F(WorkersTest, AGroupLargerThanTheDataIsRefused) {
  const ProgramRun run =
      Launch(2, Flags({{"--partition", "drop"}, {"--batch_size", "60"}}));
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err, HasSubstr("2 ranks of 1 batches of 60 rows"));
}

// Ranks that are started one by one, as by another launcher.
class RankFailureTest : public WorkersTest {
 protected:
  RankFailureTest() {
    setenv("SPILLWAY_WORLD_SIZE", "2", 1);
    setenv("SPILLWAY_RUN_ID", "a run that fails", 1);
    setenv("SPILLWAY_RENDEZVOUS", folder_.File("").c_str(), 1);
  }
  ~RankFailureTest() override {
    for (const char* name : {"SPILLWAY_RANK", "SPILLWAY_WORLD_SIZE",
                             "SPILLWAY_RUN_ID", "SPILLWAY_RENDEZVOUS"}) {
      unsetenv(name);
    }
  }

  std::unique_ptr<RunningProgram> Start(int rank,
                                        const FlagValues& more) const {
    setenv("SPILLWAY_RANK", std::to_string(rank).c_str(), 1);
    FlagValues flags =
        With(Flags({{"--num_steps", "1000000"}, {"--display", "1"}}), more);
    flags.erase("--json");
    return std::make_unique<RunningProgram>(
        ProgramStart{.arguments = ToArguments("train", flags)});
  }
};

TEST_F(RankFailureTest, ARankThatIsKilledIsLost) {
  const auto first = Start(0, {});
  const auto second = Start(1, {});
  ASSERT_TRUE(first->WaitFor("Iter:9, "));
  second->Send(SIGKILL);
  const ProgramRun run = first->Wait();
  EXPECT_EQ(run.exit_status, 76) << run.err;
  EXPECT_THAT(run.err, HasSubstr("all-"));  // the call
}

TEST_F(RankFailureTest, ARankThatStandsStillIsLate) {
  const auto first = Start(0, {{"--comm_timeout", "2"}});
  const auto second = Start(1, {{"--comm_timeout", "2"}});
  ASSERT_TRUE(first->WaitFor("Iter:9, "));
  second->Send(SIGSTOP);
  const ProgramRun run = first->Wait();
  EXPECT_EQ(run.exit_status, 75) << run.err;
  EXPECT_THAT(run.err, HasSubstr("late: rank 1"));
  second->Send(SIGKILL);
  second->Wait();
}

TEST_F(RankFailureTest, RanksWithOtherSettingsAreFoundBeforeTheFirstStep) {
  const auto first = Start(0, {});
  const auto second = Start(1, {{"--momentum", "0.8"}});
  const ProgramRun a = first->Wait();
  const ProgramRun b = second->Wait();
  EXPECT_EQ(a.exit_status, 5);
  EXPECT_EQ(b.exit_status, 5);
  EXPECT_THAT(a.err, HasSubstr("\"momentum\":0.8"));
  EXPECT_THAT(b.err, HasSubstr("\"momentum\":0.9"));
}

// Nobody writes half a checkpoint, and a restart goes on from the last one.
TEST_F(RankFailureTest, ATrainingGoesOnAfterARankWasLost) {
  const FlagValues saved = {{"--checkpoint", Path("state")},
                            {"--checkpoint_every", "2"}};
  const auto first = Start(0, saved);
  const auto second = Start(1, saved);
  ASSERT_TRUE(first->WaitFor("Iter:21, "));
  second->Send(SIGKILL);
  EXPECT_EQ(first->Wait().exit_status, 76);
  const ProgramRun rest = Launch(
      2, With(Flags(saved), {{"--resume", "auto"}, {"--num_steps", "150"}}));
  EXPECT_EQ(rest.exit_status, 0) << rest.err;
  const Json resumed = Result();
  EXPECT_LT(resumed["steps_done"], 150);
  EXPECT_EQ(resumed["checksum"],
            LaunchForJson(2, {{"--num_steps", "150"}})["checksum"]);
}

// A rank is killed or stopped at a random moment, maybe while the ranks meet or
// write a checkpoint. The other one ends with the reason. Then two ranks, or
// one with two micro-batches an update, go on from what was written.
class RandomFailure : public RankFailureTest {
 protected:
  static constexpr const char* kSteps = "60";

  void Fail(const std::array<uint32_t, 4>& random) const {
    const FlagValues flags = With(Saved(), {{"--comm_timeout", "2"}});
    std::vector<std::unique_ptr<RunningProgram>> ranks;
    for (const int rank : {0, 1}) ranks.push_back(Start(rank, flags));
    std::this_thread::sleep_for(std::chrono::milliseconds(random[0] % 1200));
    RunningProgram& failing = *ranks[random[1] % 2];
    failing.Send(random[2] % 2 == 0 ? SIGKILL : SIGSTOP);
    const ProgramRun survivor = ranks[1 - random[1] % 2]->Wait();
    EXPECT_THAT(survivor.exit_status, AnyOf(0, 75, 76)) << survivor.err;
    if (survivor.exit_status != 0) {
      EXPECT_THAT(survivor.err, HasSubstr("rank"));
    }
    failing.Send(SIGKILL);
    failing.Wait();
  }

  Json GoOn(int ranks) const {
    FlagValues flags = Flags(With(
        Saved(), {{"--resume", "auto"}, {"--num_steps", std::string(kSteps)}}));
    if (ranks == 1) {
      flags = With(flags, {{"--train_algo", "looped_minibatch"},
                           {"--parallel_batches", "2"}});
    }
    const ProgramRun run = Launch(ranks, flags);
    EXPECT_EQ(run.exit_status, 0) << run.err;
    return Result();
  }

 private:
  FlagValues Saved() const {
    return {{"--checkpoint", Path("states/state")},
            {"--checkpoint_every", "2"},
            {"--num_steps", kSteps}};
  }
};

TEST_F(RandomFailure, EndsTheOthersAndLosesNothing) {
  const Json whole = LaunchForJson(2, {{"--num_steps", kSteps}});
  for (int64_t i = 0; i < StressSetting("SPILLWAY_FAILURES", 4); ++i) {
    SCOPED_TRACE(i);
    std::filesystem::remove_all(Path("states"));
    std::filesystem::create_directory(Path("states"));
    setenv("SPILLWAY_RUN_ID", std::to_string(i).c_str(), 1);
    Fail(Philox4x32(3, static_cast<uint64_t>(i)));
    EXPECT_EQ(GoOn(1 + static_cast<int>(i % 2))["checksum"], whole["checksum"]);
  }
}

TEST_F(WorkersTest, ADryRunShowsTheRowsOfEachRank) {
  const ProgramRun run = Launch(2, Flags({{"--dry_run", "true"}}));
  EXPECT_EQ(run.exit_status, 0) << run.err;
  const Json dry = Result();
  EXPECT_EQ(dry["world_size"], 2);
  const Json& windows = dry["updates"][1]["windows"];
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[1]["rank"], 1);
  EXPECT_EQ(windows[1]["micro"], 0);
  EXPECT_EQ(windows[1]["begin"], 24);
  EXPECT_EQ(windows[1]["weight"], 0.5);
}

}  // namespace
}  // namespace spillway

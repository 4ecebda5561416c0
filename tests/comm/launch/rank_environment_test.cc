#include "comm/launch/rank_environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(RankEnvironmentTest, StatesTheRank) {
  EXPECT_THAT(RankEnvironment({"HOME=/home/x"}, {.rank = 2,
                                                 .size = 3,
                                                 .run_id = "ab",
                                                 .run_folder = "/run/x",
                                                 .restart = 1,
                                                 .cores = 8}),
              IsSupersetOf({"HOME=/home/x", "SPILLWAY_RANK=2",
                            "SPILLWAY_WORLD_SIZE=3", "SPILLWAY_LOCAL_RANK=2",
                            "SPILLWAY_LOCAL_WORLD_SIZE=3", "SPILLWAY_RUN_ID=ab",
                            "SPILLWAY_RENDEZVOUS=/run/x", "SPILLWAY_RESTART=1",
                            "OMP_NUM_THREADS=2", "OMP_WAIT_POLICY=passive"}));
}

TEST(RankEnvironmentTest, EveryRankHasAThread) {
  EXPECT_THAT(RankEnvironment({}, {.size = 4, .cores = 2}),
              Contains("OMP_NUM_THREADS=1"));
}

TEST(RankEnvironmentTest, KeepsWhatTheUserHasSet) {
  const auto environment = RankEnvironment(
      {"OMP_NUM_THREADS=7", "OMP_WAIT_POLICY=active"}, {.size = 4, .cores = 2});
  EXPECT_THAT(environment,
              IsSupersetOf({"OMP_NUM_THREADS=7", "OMP_WAIT_POLICY=active"}));
  EXPECT_THAT(environment, Not(Contains("OMP_NUM_THREADS=1")));
  EXPECT_THAT(environment, Not(Contains("OMP_WAIT_POLICY=passive")));
}

TEST(RankEnvironmentTest, LeavesOtherLaunchersOut) {
  const auto environment = RankEnvironment(
      {"RANK=5", "WORLD_SIZE=9", "OMPI_COMM_WORLD_SIZE=9", "PMI_RANK=5",
       "SLURM_PROCID=0", "SPILLWAY_RANK=8", "RANKS=1"},
      {.rank = 1, .size = 2});
  for (const char* name :
       {"RANK=", "WORLD_SIZE=", "OMPI_", "PMI_", "SLURM_", "SPILLWAY_RANK=8"}) {
    EXPECT_THAT(environment, Not(Contains(StartsWith(name)))) << name;
  }
  EXPECT_THAT(environment, IsSupersetOf({"SPILLWAY_RANK=1", "RANKS=1"}));
}

TEST(RankEnvironmentTest, ThereIsACore) { EXPECT_GE(UsableCores(), 1); }

}  // namespace
}  // namespace spillway

// Ranks on GPUs: the program on fake ones (spillway_on_fake_gpu.cc), with the
// collectives of a fake NCCL, or of gloo through the host's memory.
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/launched_training.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::With;
using Json = nlohmann::ordered_json;

class GpuWorkersTest : public testing::LaunchedTraining {
 protected:
  void SetUp() override {
    LaunchedTraining::SetUp();
    SetGpus(3);
  }

  static void SetGpus(int count) {
    setenv("SPILLWAY_FAKE_GPUS", std::to_string(count).c_str(), 1);
  }

  // Short, since the fake GPU is slow.
  static FlagValues OnGpus(const FlagValues& more = {}) {
    return With(
        {{"--device", "cuda"}, {"--batch_size", "2"}, {"--num_steps", "3"}},
        more);
  }

  static void ExpectExactOnAllRanks(const Json& result) {
    for (const Json& rank : result["ranks"]) {
      EXPECT_EQ(rank["peak_device_bytes"]["predicted"],
                rank["peak_device_bytes"]["measured"]);
      EXPECT_EQ(rank["checksum"], result["checksum"]);
    }
  }

  // With `flags`, the gradients' sums are the same through NCCL and through the
  // host. The result of NCCL.
  Json ExpectBothAgree(int ranks, const FlagValues& flags) const {
    Json nccl = LaunchForJson(ranks, With(OnGpus(flags), {{"--comm", "nccl"}}));
    const Json gloo =
        LaunchForJson(ranks, With(OnGpus(flags), {{"--comm", "gloo"}}));
    EXPECT_EQ(nccl["comm"]["backend"], "nccl");
    EXPECT_EQ(gloo["comm"]["backend"], "gloo");
    EXPECT_EQ(nccl["losses"], gloo["losses"]);
    EXPECT_EQ(nccl["checksum"], gloo["checksum"]);
    ExpectExactOnAllRanks(nccl);
    ExpectExactOnAllRanks(gloo);
    return nccl;
  }
};

TEST_F(GpuWorkersTest, TwoRanksTrainAsOneWithTwoMicroBatches) {
  const Json alone = Alone(2, OnGpus());
  const Json two = ExpectBothAgree(2, {});
  EXPECT_EQ(two["losses"], alone["losses"]);
  EXPECT_EQ(two["checksum"], alone["checksum"]);
  const Json graphs = ExpectBothAgree(2, {{"--cuda_graph", "true"}});
  EXPECT_EQ(graphs["checksum"], alone["checksum"]);
}

TEST_F(GpuWorkersTest, ThreeRanksHaveEqualReplicas) {
  const Json three =
      LaunchForJson(3, OnGpus({{"--check_replicas", "1"}, {"--comm", "nccl"}}));
  ExpectExactOnAllRanks(three);
}

TEST_F(GpuWorkersTest, HalfIsTheSameOnBothWays) {
  ExpectBothAgree(2, {{"--reduce", "half"}, {"--clip_wire", "0.01"}});
}

TEST_F(GpuWorkersTest, GroupsOfMicroBatchesAreTheSameOnBothWays) {
  ExpectBothAgree(2, {{"--train_algo", "looped_minibatch"},
                      {"--parallel_batches", "2"},
                      {"--clip_norm", "1"}});
}

// Neither has a kernel on the GPU, so they exchange through the host.
TEST_F(GpuWorkersTest, OtherReductionsRunOnTheHost) {
  const FlagValues sparse = {
      {"--reduce", "sparse"}, {"--topk", "true"}, {"--spars", "0.1"}};
  for (const FlagValues& flags :
       {sparse, FlagValues{{"--reduce", "partial"}}}) {
    const Json nccl =
        LaunchForJson(2, With(OnGpus(flags), {{"--comm", "nccl"}}));
    const Json gloo =
        LaunchForJson(2, With(OnGpus(flags), {{"--comm", "gloo"}}));
    EXPECT_EQ(nccl["losses"], gloo["losses"]);
  }
}

TEST_F(GpuWorkersTest, BudgetsOfRanksDoNotChangeTheResult) {
  const Json plenty = LaunchForJson(2, OnGpus({{"--comm", "gloo"}}));
  const Json tight =
      LaunchForJson(2, OnGpus({{"--comm", "gloo"},
                               {"--device_memory", "4500kB,4200kB"},
                               {"--lms", "auto"}}));
  EXPECT_EQ(tight["losses"], plenty["losses"]);
  EXPECT_EQ(tight["checksum"], plenty["checksum"]);
  ExpectExactOnAllRanks(tight);
  EXPECT_LE(tight["ranks"][1]["peak_device_bytes"]["measured"], 4'200'000);
}

TEST_F(GpuWorkersTest, EachRankTakesItsGpu) {
  EXPECT_EQ(LaunchForJson(2, OnGpus())["comm"]["backend"], "nccl");
  SetGpus(1);
  EXPECT_THAT(
      Launch(2, Flags(OnGpus())),
      AllOf(::testing::Field(&ProgramRun::exit_status, 2),
            ::testing::Field(
                &ProgramRun::err,
                HasSubstr("--device: rank 1 has the local rank 1 of 2 on its "
                          "host, which has 1 GPU; start as many"))));
}

TEST_F(GpuWorkersTest, RanksThatShareAGpuUseTheHost) {
  const ProgramRun run = Launch(2, Flags(OnGpus({{"--device", "cuda:0"}})));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("gradients go through the host's memory: ranks 0 "
                              "and 1 share the GPU"),
                    HasSubstr("NCCL wants one for each rank")));
  EXPECT_EQ(Result()["comm"]["backend"], "gloo");
}

TEST_F(GpuWorkersTest, NcclThatCannotBeIsRefused) {
  const auto refuses = [&](const FlagValues& flags, const char* reason) {
    const ProgramRun run =
        Launch(2, Flags(With(OnGpus({{"--comm", "nccl"}}), flags)));
    EXPECT_EQ(run.exit_status, 2);
    EXPECT_THAT(run.err, HasSubstr(reason));
  };
  refuses({{"--device", "cuda:0"}},
          "--comm: backend nccl: ranks 0 and 1 share");
  refuses({{"--device", "cpu"}}, "--comm: backend nccl: rank 0 has no NCCL");
  refuses({{"--deterministic_reduce", "true"}}, "no deterministic_reduce");
}

}  // namespace
}  // namespace spillway

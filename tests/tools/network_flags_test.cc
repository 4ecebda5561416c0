// --workers of `simulate` and `tune`, and plans for several ranks.
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/launched_training.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::ProfilePath;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using testing::ToArguments;
using testing::With;
using Json = nlohmann::ordered_json;

FlagValues OnNetwork(const FlagValues& more = {}) {
  return With({{"--model", "lenet"},
               {"--batch_size", "64"},
               {"--device", "cpu"},
               {"--threads", "1"},
               {"--profile", ProfilePath("p100_pcie")},
               {"--workers", "8"},
               {"--network_gbps", "1"}},
              more);
}

std::vector<int64_t> WorkersOf(const Json& json) {
  std::vector<int64_t> workers;
  for (const Json& row : json["scaling"]) workers.push_back(row["workers"]);
  return workers;
}

TEST(NetworkFlagsTest, SimulateShowsTheScalingOfThePlan) {
  const Json json = RunForJson(ToArguments("simulate", OnNetwork()));
  EXPECT_EQ(WorkersOf(json), (std::vector<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(json["workers"], 8);
  EXPECT_EQ(json["network"]["between_hosts"]["bytes_per_second"], 1e9);
  EXPECT_EQ(json["network"]["between_hosts"]["latency_ns"], 5000);
  const Json& last = json["scaling"][3];
  EXPECT_EQ(last["step_ms"], json["step_ms"]);
  EXPECT_NEAR(last["images_per_sec"].get<double>(),
              8 * json["images_per_sec"].get<double>(), 1e-6);
  EXPECT_EQ(json["scaling"][0]["efficiency"], 1);
  EXPECT_LT(last["efficiency"], 1);
  EXPECT_GT(json["lanes"]["communication"]["busy_ms"], 0);
}

TEST(NetworkFlagsTest, ALinkThatIsTwiceAsFastIsNoSlower) {
  const auto step_ms = [](const FlagValues& more) -> double {
    return RunForJson(ToArguments("simulate", OnNetwork(more)))["step_ms"];
  };
  const double slow = step_ms({{"--network_gbps", "0.1"}});
  EXPECT_GT(slow, step_ms({{"--network_gbps", "0.2"}}));
  EXPECT_GT(slow, step_ms({{"--network_gbps", "0.1"}, {"--reduce", "half"}}));
  EXPECT_LT(slow, step_ms({{"--network_gbps", "0.1"},
                           {"--network_latency_us", "5000"}}));
  EXPECT_LT(slow, step_ms({{"--network_gbps", "0.1"},
                           {"--staged_allreduce", "true"}}));
  EXPECT_GT(slow, step_ms({{"--network_gbps", "0.1"},
                           {"--ranks_per_host", "4"},
                           {"--intra_host_gbps", "50"}}));
}

TEST(NetworkFlagsTest, ListsOfWorkersAreTaken) {
  const Json json =
      RunForJson(ToArguments("simulate", OnNetwork({{"--workers", "6,2,64"}})));
  EXPECT_EQ(WorkersOf(json), (std::vector<int64_t>{2, 6, 64}));
  EXPECT_EQ(json["workers"], 64);
}

TEST(NetworkFlagsTest, BadFlagsAreNamed) {
  const auto refuses = [](const FlagValues& flags, const std::string& text) {
    for (const char* command : {"simulate", "tune"}) {
      EXPECT_THAT(RunProgram(ToArguments(command, flags)),
                  Refuses(2, HasSubstr(text)));
    }
  };
  FlagValues without = OnNetwork();
  without.erase("--workers");
  refuses(without, "--network_gbps needs --workers");
  without = OnNetwork();
  without.erase("--network_gbps");
  refuses(without, "--workers: 8 ranks need a network: --network_gbps, or");
  for (const char* bad : {"0", "x", "2,-1", "2000000", ""}) {
    refuses(OnNetwork({{"--workers", bad}}), "--workers: ");
  }
  refuses(OnNetwork({{"--network_gbps", "0"}}), "--network_gbps");
  refuses(OnNetwork({{"--network_latency_us", "-1"}}), "--network_latency_us");
  refuses(OnNetwork({{"--ranks_per_host", "0"}}), "--ranks_per_host: ");
  refuses(OnNetwork({{"--allreduce", "star"}}),
          "--allreduce: \"star\" is not one of auto, ring, tree, hierarchical");
  refuses(OnNetwork({{"--workers", "6"},
                     {"--ranks_per_host", "4"},
                     {"--allreduce", "hierarchical"}}),
          "--allreduce: hierarchical needs hosts with equal numbers of ranks");
  refuses(OnNetwork({{"--forward_only", "true"}}),
          "--workers excludes --forward_only");
}

// A plan for two ranks, in less memory than the step needs without swaps.
class RanksPlanTest : public testing::LaunchedTraining {
 protected:
  // Those of the training's model, and of its network.
  FlagValues TuneFlags(const FlagValues& more = {}) const {
    return With({{"--model", "lenet"},
                 {"--batch_size", "48"},
                 {"--image_size", "12"},
                 {"--channels", "1"},
                 {"--num_classes", "10"},
                 {"--optimizer", "momentum"},
                 {"--device", "cpu"},
                 {"--threads", "1"},
                 {"--profile", ProfilePath("p100_pcie")},
                 {"--workers", "2"},
                 {"--network_gbps", "1"},
                 {"--out", Path("plan.json")}},
                more);
  }

  Json LaunchPlan(const FlagValues& more = {}) const {
    return LaunchForJson(2, With({{"--batch_size", "48"}}, more));
  }
};

TEST_F(RanksPlanTest, ATunedPlanRunsOnRealRanks) {
  const Json plain = LaunchPlan();
  const int64_t peak = plain["peak_device_bytes"]["predicted"];
  const std::string budget = std::to_string(peak * 8 / 10);
  const Json tuned =
      RunForJson(ToArguments("tune", TuneFlags({{"--device_memory", budget}})));
  EXPECT_TRUE(tuned["necessary"]);
  EXPECT_EQ(WorkersOf(tuned), (std::vector<int64_t>{1, 2}));
  EXPECT_GT(tuned["buckets"]["tried"].size(), 0U);
  const int64_t predicted = tuned["chosen"]["predicted"]["peak_device_bytes"];
  const Json json = LaunchPlan({{"--plan", Path("plan.json")}});
  EXPECT_EQ(json["losses"], plain["losses"]);
  EXPECT_EQ(json["checksum"], plain["checksum"]);
  ASSERT_EQ(json["ranks"].size(), 2U);
  for (const Json& rank : json["ranks"]) {
    EXPECT_EQ(rank["peak_device_bytes"]["predicted"],
              rank["peak_device_bytes"]["measured"]);
    EXPECT_LE(rank["peak_device_bytes"]["measured"].get<int64_t>(),
              peak * 8 / 10);
  }
  EXPECT_LE(predicted, peak * 8 / 10);
  const Json saved = Json::parse(ReadFile(Path("plan.json")).value());
  EXPECT_EQ(saved["buckets"]["bytes"], tuned["buckets"]["chosen"]);
}

TEST_F(RanksPlanTest, ThePlanHasTheBucketsThatWereTuned) {
  RunForJson(ToArguments("tune", TuneFlags({{"--bucket_mb", "0.05"},
                                            {"--first_bucket_mb", "0.01"}})));
  const Json json = LaunchPlan({{"--plan", Path("plan.json")}});
  EXPECT_GT(json["comm"]["buckets"].size(), 2U);
  EXPECT_EQ(json["comm"]["buckets"],
            LaunchPlan({{"--bucket_mb", "0.05"},
                        {"--first_bucket_mb", "0.01"}})["comm"]["buckets"]);
  // Those of the flags count.
  const ProgramRun other = Launch(2, Flags({{"--batch_size", "48"},
                                            {"--plan", Path("plan.json")},
                                            {"--bucket_mb", "25"}}));
  EXPECT_EQ(other.exit_status, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("--plan: "), HasSubstr("buckets")));
  // As those of one rank.
  EXPECT_THAT(
      RunProgram(ToArguments("train", Flags({{"--batch_size", "48"},
                                             {"--plan", Path("plan.json")}}))),
      Refuses(2, HasSubstr("--plan: ")));
}

TEST_F(RanksPlanTest, EveryWayOfExchangeHasThePlanOfItsTraining) {
  for (const FlagValues& way : std::vector<FlagValues>{
           {{"--reduce", "half"}, {"--wire", "bf16"}},
           {{"--reduce", "sparse"}, {"--topk", "true"}, {"--spars", "0.1"}},
           {{"--reduce", "partial"}}}) {
    SCOPED_TRACE(way.at("--reduce"));
    RunForJson(ToArguments("tune", TuneFlags(way)));
    const Json json = LaunchPlan(With({{"--plan", Path("plan.json")}}, way));
    EXPECT_EQ(json["peak_device_bytes"]["predicted"],
              json["peak_device_bytes"]["measured"]);
  }
}

TEST_F(RanksPlanTest, SimulateTakesThePlan) {
  const Json tuned = RunForJson(
      ToArguments("tune", TuneFlags({{"--first_bucket_mb", "0.01"}})));
  FlagValues flags = TuneFlags({{"--plan", Path("plan.json")}});
  flags.erase("--out");
  const Json json = RunForJson(ToArguments("simulate", flags));
  EXPECT_EQ(json["peak_device_bytes"],
            tuned["chosen"]["predicted"]["peak_device_bytes"]);
  EXPECT_EQ(json["step_ms"], tuned["chosen"]["predicted"]["step_ms"]);
  EXPECT_EQ(json["scaling"], tuned["scaling"]);
}

TEST(NetworkFlagsTest, AGraphOfOneRankIsRefused) {
  const testing::TemporaryFolder folder;
  ASSERT_EQ(RunProgram({"inspect", "--model", "lenet", "--out",
                        folder.File("graph.json")})
                .exit_status,
            0);
  EXPECT_THAT(
      RunProgram({"simulate", "--graph", folder.File("graph.json"), "--workers",
                  "4", "--network_gbps", "1"}),
      Refuses(2,
              HasSubstr("--workers: the ranks of --graph exchange nothing")));
}

}  // namespace
}  // namespace spillway

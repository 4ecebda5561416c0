// --plan and --lms auto: the tuned plan runs, bitwise identical to a run
// without swaps, and within the predicted bytes.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"
#include "tests/tools/tuned_step.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::BenchResNet;
using testing::ExpectExactMemory;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::PeakOfResNet;
using testing::ProfilePath;
using testing::ProgramRun;
using testing::Refuses;
using testing::ResNet;
using testing::RunForJson;
using testing::RunProgram;
using testing::ToArguments;
using testing::TuneResNet;
using Json = nlohmann::ordered_json;

class PlanTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File(name); }

  // Tunes for half of the memory that the step needs without swaps, and saves
  // the plan. Returns the result of tune.
  Json Tune() {
    budget_ = PeakOfResNet() / 2;
    return RunForJson(TuneResNet(
        {{"--device_memory", std::to_string(budget_)}, {"--out", plan_}}));
  }

  Json ReadPlan() const {
    const auto text = ReadFile(plan_);
    EXPECT_THAT(text, IsOk());
    const auto json = ParseJson(text.value_or(""), plan_);
    EXPECT_THAT(json, IsOk());
    return json.ok() ? *json : Json();
  }

  void WritePlan(const std::string& text) const {
    ASSERT_THAT(WriteFileAtomically(plan_, text), IsOk());
  }

  ProgramRun SimulatePlan(const FlagValues& flags = {}) const {
    FlagValues all = flags;
    all.insert({"--plan", plan_});
    return RunProgram(ResNet("simulate", all));
  }

  const testing::TemporaryFolder folder_;
  const std::string plan_ = folder_.File("plan.json");
  int64_t budget_ = 0;
};

TEST_F(PlanTest, BenchRunsWhatWasTuned) {
  const Json tuned = Tune();
  const Json predicted = tuned["chosen"]["predicted"];
  const Json plain = BenchResNet();
  for (const FlagValues& variant :
       {FlagValues(), {{"--device", "inline"}}, {{"--check_memory", "true"}}}) {
    SCOPED_TRACE(::testing::PrintToString(variant));
    FlagValues flags = variant;
    flags["--plan"] = plan_;
    const Json json = BenchResNet(flags);
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    EXPECT_EQ(json["losses"], plain["losses"]);
    ExpectExactMemory(json);
    EXPECT_EQ(json["peak_device_bytes"]["predicted"],
              predicted["peak_device_bytes"]);
    EXPECT_EQ(json["peak_host_bytes"]["predicted"],
              predicted["peak_host_bytes"]);
    EXPECT_EQ(json["device_memory"], budget_);
    EXPECT_EQ(json["swap"]["out_bytes"], predicted["swap"]["out_bytes"]);
    EXPECT_EQ(json["swap"]["in_bytes"], predicted["swap"]["in_bytes"]);
  }
}

TEST_F(PlanTest, SimulatePredictsWhatTuneDid) {
  const Json predicted = Tune()["chosen"]["predicted"];
  const Json json =
      RunForJson(ResNet("simulate", {{"--plan", plan_},
                                     {"--profile", ProfilePath("p100_pcie")}}));
  EXPECT_EQ(json["fits"], true);
  for (const char* field :
       {"step_ms", "peak_device_bytes", "peak_host_bytes", "swap"}) {
    EXPECT_EQ(json[field], predicted[field]) << field;
  }
}

TEST_F(PlanTest, APlanOfOptionsOfTflmsRunsAsWell) {
  const std::string budget = std::to_string(9 * PeakOfResNet() / 10);
  const Json plain = BenchResNet();
  for (const char* lms : {"v1", "v2"}) {
    const Json tuned = RunForJson(TuneResNet(
        {{"--device_memory", budget}, {"--lms", lms}, {"--out", plan_}}));
    const Json json = BenchResNet({{"--plan", plan_}});
    EXPECT_EQ(json["checksum"], plain["checksum"]) << lms;
    EXPECT_EQ(json["lms"]["mode"], lms);
    ExpectExactMemory(json);
    EXPECT_EQ(json["peak_device_bytes"]["predicted"],
              tuned["chosen"]["predicted"]["peak_device_bytes"]);
  }
}

// With graph file, feeds and fetches: `run` runs the tuned step.
TEST_F(PlanTest, RunTakesAGraphFilesPlan) {
  const std::string graph = Path("graph.json");
  const std::string feed = Path("feed.safetensors");
  ASSERT_EQ(
      RunProgram({"inspect", "--model", "lenet", "--batch_size", "64",
                  "--channels", "1", "--num_classes", "10", "--out", graph})
          .exit_status,
      0);
  const std::vector<float> pixels(64 * 28 * 28, 0.5F);
  const std::vector<int32_t> classes(64, 3);
  ASSERT_THAT(
      WriteSafetensors(
          feed,
          {{"images",
            MakeHostTensor({.dtype = DType::kFloat32, .shape = {64, 28, 28, 1}},
                           pixels)},
           {"labels:0",
            MakeHostTensor({.dtype = DType::kInt32, .shape = {64}}, classes)}}),
      IsOk());
  const std::string fetch = "loss/Mean:0,accuracy/Mean:0";
  const std::vector<std::string> tune = {
      "tune",    "--graph", graph,   "--profile", ProfilePath("p100_pcie"),
      "--fetch", fetch,     "--out", plan_,       "--threads",
      "1"};
  const int64_t peak =
      RunForJson(tune)["chosen"]["predicted"]["peak_device_bytes"];
  std::vector<std::string> tight = tune;
  tight.insert(tight.end(), {"--device_memory", std::to_string(peak * 3 / 4)});
  const Json tuned = RunForJson(tight);
  EXPECT_EQ(tuned["necessary"], true);
  const auto run = [&](const std::string& out, const FlagValues& flags) {
    FlagValues all = flags;
    all.insert({{"--graph", graph},
                {"--feed", feed},
                {"--fetch", fetch},
                {"--out", Path(out)},
                {"--threads", "1"}});
    return ToArguments("run", all);
  };
  RunForJson(run("plain", {}));
  const Json json = RunForJson(run("planned", {{"--plan", plan_}}));
  ExpectExactMemory(json);
  EXPECT_EQ(json["peak_device_bytes"]["predicted"],
            tuned["chosen"]["predicted"]["peak_device_bytes"]);
  EXPECT_EQ(json["swap"]["out_bytes"],
            tuned["chosen"]["predicted"]["swap"]["out_bytes"]);
  ASSERT_OK_AND_ASSIGN(const std::string plain, ReadFile(Path("plain")));
  ASSERT_OK_AND_ASSIGN(const std::string planned, ReadFile(Path("planned")));
  EXPECT_TRUE(plain == planned);
  EXPECT_THAT(RunProgram(run(
                  "other", {{"--plan", plan_}, {"--fetch", "conv1/Conv2D:0"}})),
              Refuses(2, HasSubstr("does not return conv1/Conv2D:0")));
}

TEST_F(PlanTest, BenchTunesForItsBudget) {
  const int64_t budget = PeakOfResNet() / 2;
  const Json plain = BenchResNet();
  for (const FlagValues& lms :
       std::vector<FlagValues>{{{"--lms", "auto"}},
                               {{"--lms", "v2"}},
                               {{"--lms", "v2"}, {"--lms_sync_mode", "3"}}}) {
    SCOPED_TRACE(::testing::PrintToString(lms));
    FlagValues flags = lms;
    flags["--device_memory"] = std::to_string(budget);
    flags["--profile"] = ProfilePath("p100_pcie");
    const Json json = BenchResNet(flags);
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    ExpectExactMemory(json);
    EXPECT_LE(json["peak_device_bytes"]["measured"].get<int64_t>(), budget);
    EXPECT_GT(json["swap"]["out_bytes"].get<int64_t>(), 0);
    if (lms.at("--lms") == "v2") {
      EXPECT_GE(json["lms"]["swapout_threshold"].get<int64_t>(), 1);
    }
  }
}

// Of tensors that are swapped or recomputed.
int64_t AwayBytes(const Json& json) {
  return json["swap"]["out_bytes"].get<int64_t>() +
         json["recompute"]["bytes"].get<int64_t>();
}

TEST_F(PlanTest, TrainTunesForItsBudget) {
  const testing::TemporaryFolder data;
  testing::WriteTinyData(data.path());
  const FlagValues flags = {{"--model", "lenet"},        {"--data", "mnist"},
                            {"--data_dir", data.path()}, {"--batch_size", "48"},
                            {"--num_epochs", "1"},       {"--seed", "7"},
                            {"--threads", "1"}};
  const Json plain = RunForJson(ToArguments("train", flags));
  const int64_t peak = plain["peak_device_bytes"]["predicted"];
  FlagValues tuned = flags;
  tuned["--lms"] = "auto";
  tuned["--profile"] = ProfilePath("p100_pcie");
  for (const int64_t budget : {peak, peak * 19 / 20}) {
    tuned["--device_memory"] = std::to_string(budget);
    const Json json = RunForJson(ToArguments("train", tuned));
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    EXPECT_EQ(json["losses"], plain["losses"]);
    ExpectExactMemory(json);
    EXPECT_LE(json["peak_device_bytes"]["measured"].get<int64_t>(), budget);
    EXPECT_EQ(AwayBytes(json) > 0, budget < peak);
  }
}

// Spells out the flags of the model that `train` takes from its data.
TEST_F(PlanTest, TrainTakesAPlanForItsGraph) {
  const testing::TemporaryFolder data;
  testing::WriteTinyData(data.path());
  const FlagValues model = {{"--model", "lenet"},
                            {"--batch_size", "48"},
                            {"--learning_rate", "0.05"},
                            {"--threads", "1"}};
  FlagValues train = model;
  train.insert({{"--data", "mnist"},
                {"--data_dir", data.path()},
                {"--num_epochs", "1"}});
  const Json plain = RunForJson(ToArguments("train", train));
  const int64_t peak = plain["peak_device_bytes"]["predicted"];
  FlagValues tune = model;
  tune.insert({{"--image_size", "12"},
               {"--channels", "1"},
               {"--num_classes", "10"},
               {"--profile", ProfilePath("p100_pcie")},
               {"--device_memory", std::to_string(peak * 19 / 20)},
               {"--out", plan_}});
  const Json predicted =
      RunForJson(ToArguments("tune", tune))["chosen"]["predicted"];
  EXPECT_GT(AwayBytes(predicted), 0);
  train["--plan"] = plan_;
  const Json json = RunForJson(ToArguments("train", train));
  EXPECT_EQ(json["checksum"], plain["checksum"]);
  ExpectExactMemory(json);
  EXPECT_EQ(json["swap"]["out_bytes"], predicted["swap"]["out_bytes"]);
  EXPECT_EQ(json["recompute"]["bytes"], predicted["recompute"]["bytes"]);
  EXPECT_LE(json["peak_device_bytes"]["measured"].get<int64_t>(),
            peak * 19 / 20);
}

TEST_F(PlanTest, APlanOfAnotherGraphIsRefusedWithBothFingerprints) {
  Tune();
  const std::string fingerprint = ReadPlan()["fingerprint"];
  for (const FlagValues& other :
       std::vector<FlagValues>{{{"--batch_size", "8"}},
                               {{"--image_size", "40"}},
                               {{"--optimizer", "momentum"}},
                               {{"--learning_rate", "0.5"}},
                               {{"--model", "lenet"}}}) {
    EXPECT_THAT(
        SimulatePlan(other),
        Refuses(2, AllOf(HasSubstr("--plan: "), HasSubstr(plan_),
                         HasSubstr("fingerprint " + fingerprint),
                         ::testing::ContainsRegex(R"(, [0-9a-f]{16}\))"))));
  }
}

TEST_F(PlanTest, APlanExcludesLmsAndSmallerBudgets) {
  const Json tuned = Tune();
  const int64_t needed = tuned["chosen"]["predicted"]["peak_device_bytes"];
  for (const char* lms : {"v1", "auto", "off"}) {
    EXPECT_THAT(SimulatePlan({{"--lms", lms}}),
                Refuses(2, HasSubstr("--plan excludes --lms: ")));
  }
  for (const char* policy : {"cheap", "auto", "off"}) {
    EXPECT_THAT(SimulatePlan({{"--lms_recompute", policy}}),
                Refuses(2, HasSubstr("--plan excludes --lms_recompute: ")));
  }
  const auto memory = [](int64_t bytes) {
    return FlagValues{{"--device_memory", std::to_string(bytes)}};
  };
  EXPECT_EQ(SimulatePlan(memory(needed)).exit_status, 0);
  EXPECT_THAT(SimulatePlan(memory(needed - 1)),
              Refuses(3, AllOf(HasSubstr("--device_memory: "),
                               HasSubstr(std::to_string(needed)))));
}

TEST_F(PlanTest, NoPlanInTheFileIsRefused) {
  EXPECT_THAT(SimulatePlan(),
              Refuses(2, AllOf(HasSubstr("--plan: "), HasSubstr(plan_))));
  for (const char* text :
       {"", "{", "[]", "null", "3", "{}", "{\"format\": 7}",
        "{\"format\": \"spillway.graph\", \"version\": 1}"}) {
    WritePlan(text);
    EXPECT_THAT(SimulatePlan(),
                Refuses(2, AllOf(HasSubstr("--plan: "), HasSubstr(plan_))))
        << text;
  }
}

// A way to damage a plan, and text that the line must have.
struct Spoilt {
  std::function<void(Json& plan)> spoil;
  std::string message;
};

TEST_F(PlanTest, SpoiltPlansAreRefused) {
  Tune();
  const Json good = ReadPlan();
  const std::string last = good["steps"].back()[0];
  const int64_t device_bytes = good["peak_device_bytes"];
  const std::vector<Spoilt> ways = {
      {[](Json& plan) { plan["device_memory"] = -1; }, "\"device_memory\""},
      {[](Json& plan) { plan["host_memory"] = -5; }, "\"host_memory\""},
      {[](Json& plan) { plan["peak_device_bytes"] = -1; },
       "\"peak_device_bytes\""},
      {[](Json& plan) {
         plan["peak_device_bytes"] =
             plan["peak_device_bytes"].get<int64_t>() - 64;
       },
       fmt::format("field \"peak_device_bytes\" is {}, but the plan needs {}",
                   device_bytes - 64, device_bytes)},
      {[](Json& plan) {
         plan["peak_host_bytes"] = plan["peak_host_bytes"].get<int64_t>() + 64;
       },
       "field \"peak_host_bytes\" is "},
      {[](Json& plan) { plan["step_ns"] = -1; }, "\"step_ns\""},
      {[](Json& plan) { plan["placement"] = -1; }, "\"placement\""},
      {[](Json& plan) { plan["placement"] = 1001; }, "\"placement\""},
      {[](Json& plan) { plan["version"] = 3; }, "\"version\""},
      {[](Json& plan) { plan["size"] = 3; },
       "unknown field \"size\"; known are: \"format\", \"version\""},
      {[](Json& plan) { plan["size"] = 3; },
       "\"fetches\", \"device_memory\", \"host_memory\""},
      {[](Json& plan) { plan["fetches"] = {"no/such:0"}; }, "\"fetches\""},
      {[](Json& plan) { plan["swaps"][0]["tensor"] = "no/such:0"; }, "no/such"},
      {[](Json& plan) {
         plan["swaps"][0]["swap_ins"][0]["readers"] = {"no/such"};
       },
       "\"readers\""},
      {[](Json& plan) { plan["steps"][3][0] = "no/such"; }, "\"steps\""},
      {[](Json& plan) { plan["steps"].erase(plan["steps"].end() - 1); },
       "the order lacks " + last},
      {[](Json& plan) {
         std::rotate(plan["steps"].begin(), plan["steps"].end() - 1,
                     plan["steps"].end());
       },
       "the order has " + last + " before"},
      {[](Json& plan) { plan["steps"].push_back(plan["steps"][0]); },
       "which it had before"},
  };
  for (const Spoilt& way : ways) {
    Json spoilt = good;
    way.spoil(spoilt);
    WritePlan(spoilt.dump());
    EXPECT_THAT(SimulatePlan(),
                Refuses(2, AllOf(HasSubstr("--plan"), HasSubstr(way.message))));
    EXPECT_THAT(RunProgram(ResNet("bench", {{"--plan", plan_}})),
                Refuses(2, AllOf(HasSubstr("--plan"), HasSubstr(way.message))));
  }
}

}  // namespace
}  // namespace spillway

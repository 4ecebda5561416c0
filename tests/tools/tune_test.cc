// `spillway tune` as a user runs it: its text, its files, and the flags it
// refuses.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/chrome_trace.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tuned_step.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::PeakOfResNet;
using testing::ProfilePath;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TuneResNet;
using Json = nlohmann::ordered_json;

class TuneTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File(name); }

  // `part` of the memory that the step needs without swaps.
  int64_t Budget(double part) {
    if (peak_ == 0) peak_ = PeakOfResNet();
    return static_cast<int64_t>(part * static_cast<double>(peak_));
  }

  FlagValues WithBudget(double part) {
    return {{"--device_memory", std::to_string(Budget(part))}};
  }

 private:
  const testing::TemporaryFolder folder_;
  int64_t peak_ = 0;
};

TEST_F(TuneTest, TheResultHasTheFieldsThatScriptsRead) {
  const Json json = RunForJson(TuneResNet(WithBudget(0.5)));
  EXPECT_EQ(json["necessary"], true);
  EXPECT_TRUE(json["chosen"]["options"].is_object());
  const Json& predicted = json["chosen"]["predicted"];
  for (const char* field :
       {"step_ms", "images_per_sec", "peak_device_bytes", "peak_host_bytes"}) {
    EXPECT_GT(predicted[field].get<double>(), 0) << field;
  }
  ASSERT_GT(json["tried"].size(), 1u);
  for (const Json& tried : json["tried"]) {
    EXPECT_TRUE(tried["options"].is_object());
    EXPECT_TRUE(tried["fits"].is_boolean());
    EXPECT_TRUE(tried["peak_device_bytes"].is_number_integer());
    EXPECT_TRUE(tried["peak_host_bytes"].is_number_integer());
    EXPECT_EQ(tried["step_ms"].is_number(), tried["fits"].get<bool>());
  }
  EXPECT_FALSE(json["floor"]["node"].get<std::string>().empty());
  EXPECT_GT(json["floor"]["bytes"].get<int64_t>(), 0);
  EXPECT_GT(json["bound"]["step_ms"].get<double>(), 0);
  EXPECT_FALSE(json["bound"]["reason"].get<std::string>().empty());
  EXPECT_GE(json["tune_ms"].get<double>(), 0);
}

TEST_F(TuneTest, ChoosesTheFastestOfWhatFits) {
  for (const double part : {0.3, 0.5, 0.9}) {
    SCOPED_TRACE(part);
    const Json json = RunForJson(TuneResNet(WithBudget(part)));
    EXPECT_EQ(json["necessary"], true);
    EXPECT_EQ(json["device_memory"], Budget(part));
    const Json& predicted = json["chosen"]["predicted"];
    const double step_ms = predicted["step_ms"];
    EXPECT_LE(predicted["peak_device_bytes"].get<int64_t>(), Budget(part));
    EXPECT_GE(step_ms, json["bound"]["step_ms"].get<double>());
    EXPECT_GT(predicted["swap"]["out_bytes"].get<int64_t>(), 0);
    bool is_among_them = false;
    for (const Json& tried : json["tried"]) {
      if (tried["fits"] == false) continue;
      EXPECT_LE(tried["peak_device_bytes"].get<int64_t>(), Budget(part));
      EXPECT_GE(tried["step_ms"].get<double>(), step_ms) << tried["name"];
      is_among_them |= tried["name"] == json["chosen"]["name"] &&
                       tried["step_ms"] == predicted["step_ms"];
    }
    EXPECT_TRUE(is_among_them);
  }
}

// Tuning for another machine does not depend on this one's memory.
TEST_F(TuneTest, TheMemoryIsThatOfTheProfilesMachine) {
  const Json json = RunForJson(TuneResNet(WithBudget(0.5)));
  EXPECT_EQ(json["host_memory"], 128_GiB);  // half of the profile's
  const ProgramRun more =
      RunProgram(TuneResNet({{"--device_memory", "17GiB"}}));
  EXPECT_EQ(more.exit_status, 0);
  EXPECT_THAT(more.out,
              AllOf(HasSubstr("budget 17 GiB, more than the 16 GiB of P100"),
                    HasSubstr("limit 128 GiB")));
}

TEST_F(TuneTest, SwapsNothingWhereEverythingFits) {
  const Json json = RunForJson(TuneResNet(WithBudget(1)));
  EXPECT_EQ(json["necessary"], false);
  EXPECT_THAT(json["reason"].get<std::string>(),
              StartsWith("LMS is not necessary"));
  EXPECT_EQ(json["chosen"]["options"]["mode"], "off");
  EXPECT_EQ(json["chosen"]["predicted"]["swap"]["tensors"], 0);
  EXPECT_EQ(json["chosen"]["predicted"]["peak_host_bytes"], 0);
  const ProgramRun run = RunProgram(TuneResNet());
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("LMS is not necessary"),
                             HasSubstr("of 16 GiB"), HasSubstr("floor")));
}

TEST_F(TuneTest, WhereNothingFitsItTellsWhatIsMissing) {
  EXPECT_THAT(RunProgram(TuneResNet({{"--device_memory", "1MiB"}})),
              Refuses(3, AllOf(HasSubstr("missing"), HasSubstr("the floor"),
                               HasSubstr("sgd_optimizer/gradients/"))));
}

TEST_F(TuneTest, TheSameInputsGiveTheSameBytes) {
  FlagValues flags = WithBudget(0.4);
  flags["--out"] = Path("first");
  Json first = RunForJson(TuneResNet(flags));
  flags["--out"] = Path("second");
  Json second = RunForJson(TuneResNet(flags));
  EXPECT_EQ(first.erase("tune_ms"), 1u);
  EXPECT_EQ(second.erase("tune_ms"), 1u);
  EXPECT_EQ(first, second);
  ASSERT_OK_AND_ASSIGN(const std::string plan, ReadFile(Path("first")));
  ASSERT_OK_AND_ASSIGN(const std::string again, ReadFile(Path("second")));
  EXPECT_TRUE(plan == again);
}

TEST_F(TuneTest, LessMemoryTakesNoLessTimeInTheBound) {
  double least = 0;
  for (const double part : {1.0, 0.6, 0.3}) {
    const Json json = RunForJson(TuneResNet(WithBudget(part)));
    const double bound = json["bound"]["step_ms"];
    EXPECT_GE(bound, least);
    least = bound;
  }
}

TEST_F(TuneTest, OnlyNumbersOfMinusOneAreTuned) {
  FlagValues flags = WithBudget(0.5);
  flags["--lms"] = "v2";
  flags["--lms_swapin_ahead"] = "3";
  const Json json = RunForJson(TuneResNet(flags));
  const Json& options = json["chosen"]["options"];
  EXPECT_EQ(options["mode"], "v2");
  EXPECT_EQ(options["swapin_ahead"], 3);
  EXPECT_GE(options["swapout_threshold"].get<int64_t>(), 1);
  EXPECT_GE(options["swapin_groupby"].get<int64_t>(), 0);
  EXPECT_LE(json["chosen"]["predicted"]["peak_device_bytes"].get<int64_t>(),
            Budget(0.5));
}

TEST_F(TuneTest, AGivenSetOfVersion1IsTriedAlone) {
  FlagValues flags = WithBudget(0.9);
  flags["--lms"] = "v1";
  flags["--lms_lb"] = "2";
  const Json json = RunForJson(TuneResNet(flags));
  EXPECT_EQ(json["chosen"]["options"]["mode"], "v1");
  EXPECT_EQ(json["chosen"]["options"]["lb"], 2);
  EXPECT_THAT(json["tried"], SizeIs(1));
}

TEST_F(TuneTest, TflmssOwnSearchLogsAndReportsItsOptions) {
  FlagValues flags = WithBudget(0.5);
  flags["--strategy"] = "tflms";
  const Json json = RunForJson(TuneResNet(flags));
  EXPECT_EQ(json["strategy"], "tflms");
  EXPECT_EQ(json["chosen"]["options"]["mode"], "v2");
  EXPECT_GE(json["chosen"]["options"]["swapout_threshold"].get<int64_t>(), 1);
  EXPECT_GE(json["chosen"]["predicted"]["step_ms"].get<double>(),
            json["bound"]["step_ms"].get<double>());
  const ProgramRun run = RunProgram(TuneResNet(flags));
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(
      run.err,
      AllOf(HasSubstr("[LMS][0] Searching values for parameters"),
            HasSubstr("[LMS][0] [Simulator] Batch size used for "
                      "simulation: 16"),
            HasSubstr("[Simulator] Found a parameter set: swapout_threshold")));
}

TEST_F(TuneTest, TheLargestBatchFitsAndTheNextDoesNot) {
  FlagValues flags = {{"--device_memory", "5MiB"},
                      {"--batch_size", "8"},
                      {"--find_max_batch", "true"}};
  const Json json = RunForJson(TuneResNet(flags));
  const int64_t largest = json["max_batch_size"];
  EXPECT_GE(largest, 8);
  EXPECT_LE(json["chosen"]["predicted"]["peak_device_bytes"].get<int64_t>(),
            5 << 20);
  bool next_was_tried = false;
  for (const Json& tried : json["tried_batches"]) {
    const int64_t batch_size = tried["batch_size"];
    EXPECT_EQ(tried["fits"], batch_size <= largest) << batch_size;
    next_was_tried |= batch_size == largest + 1;
  }
  EXPECT_TRUE(next_was_tried);
  flags.erase("--find_max_batch");
  flags["--batch_size"] = std::to_string(largest + 1);
  EXPECT_THAT(RunProgram(TuneResNet(flags)), Refuses(3, HasSubstr("missing")));
}

// Only the plan without swaps is tried.
TEST_F(TuneTest, WithoutTimeItTakesWhatItHasOrSaysWhatIsMissing) {
  FlagValues flags = WithBudget(1);
  flags["--time_limit"] = "0";
  EXPECT_EQ(RunForJson(TuneResNet(flags))["necessary"], false);
  flags["--device_memory"] = std::to_string(Budget(0.5));
  EXPECT_THAT(RunProgram(TuneResNet(flags)),
              Refuses(3, HasSubstr("device memory: ")));
}

TEST_F(TuneTest, WithoutTimeASetThatWasAskedForIsTried) {
  FlagValues flags = WithBudget(1);
  flags["--lms"] = "v1";
  flags["--time_limit"] = "0";
  const Json json = RunForJson(TuneResNet(flags));
  EXPECT_EQ(json["chosen"]["options"]["mode"], "v1");
  EXPECT_EQ(json["tried"].size(), 1U);
}

TEST_F(TuneTest, WritesTheTraceAndThePage) {
  FlagValues flags = WithBudget(0.5);
  flags["--trace"] = Path("trace.json");
  flags["--report"] = Path("report.html");
  const Json json = RunForJson(TuneResNet(flags));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(Path("trace.json")));
  const testing::ReadTrace trace = testing::ReadChromeTrace(text);
  EXPECT_THAT(trace.faults, ElementsAre());
  EXPECT_GT(trace.slices.size(), 100u);
  EXPECT_FALSE(trace.arrows.empty());
  EXPECT_THAT(text, AllOf(HasSubstr("lms/swapin_"), HasSubstr("predicted")));
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(Path("report.html")));
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  for (const char* part :
       {"<h1>resnet20, batch 16</h1>", "P100 16 GB", "joint", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST_F(TuneTest, ExplainsATensorAndPricesTheLargest) {
  FlagValues flags = WithBudget(0.5);
  const Json json = RunForJson(TuneResNet(flags));
  const Json& largest = json["tensors"][0];
  ASSERT_FALSE(largest["price_ms"].is_null());
  const Json& bound = json["bound"];
  EXPECT_GE(bound["recompute_only_ms"], bound["step_ms"]);
  EXPECT_GE(bound["swap_only_ms"], bound["step_ms"]);
  flags["--explain"] = largest["tensor"];
  const Json explained = RunForJson(TuneResNet(flags))["explained"];
  ASSERT_THAT(explained, SizeIs(1));
  EXPECT_EQ(explained[0]["tensor"], largest["tensor"]);
  EXPECT_EQ(explained[0]["price_ms"], largest["price_ms"]);
  EXPECT_FALSE(explained[0]["gaps"].empty());
  const ProgramRun run = RunProgram(TuneResNet(flags));
  EXPECT_THAT(run.out, AllOf(HasSubstr("swaps alone: "),
                             HasSubstr("recomputation alone: "),
                             HasSubstr("\ntensor       " +
                                       largest["tensor"].get<std::string>())));
  flags["--explain"] = "no/such/tensor:0";
  EXPECT_THAT(
      RunProgram(TuneResNet(flags)),
      Refuses(2, AllOf(HasSubstr("--explain: "), HasSubstr("no/such/tensor"))));
}

TEST_F(TuneTest, WritesTheFrontier) {
  const FlagValues flags = {{"--model", "lenet"},
                            {"--frontier", Path("frontier.csv")}};
  const Json json = RunForJson(TuneResNet(flags));
  ASSERT_GT(json["frontier"].size(), 2U);
  EXPECT_EQ(json["frontier"][0]["step_ms"],
            json["chosen"]["predicted"]["step_ms"]);
  ASSERT_OK_AND_ASSIGN(const std::string csv, ReadFile(Path("frontier.csv")));
  EXPECT_THAT(csv, StartsWith("device_memory_bytes,"));
}

// A command line that must be refused, and text that the line must have.
struct BadTune {
  std::string name = {};  // of the test
  FlagValues flags = {};
  std::string message = {};
};

class BadTuneTest : public ::testing::TestWithParam<BadTune> {};

TEST_P(BadTuneTest, IsRefusedInOneLine) {
  EXPECT_THAT(RunProgram(TuneResNet(GetParam().flags)),
              Refuses(2, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadTuneTest,
    ::testing::ValuesIn(std::vector<BadTune>{
        {"NoMemory", {{"--device_memory", "0"}}, "--device_memory: a budget"},
        {"NotASize", {{"--device_memory", "lots"}}, "--device_memory: \"lots"},
        {"NegativeSize", {{"--device_memory", "-1"}}, "--device_memory: \"-1"},
        {"UnknownStrategy",
         {{"--strategy", "nonsense"}},
         "--strategy: \"nonsense\" is not one of best, keep_all, swap_all, "},
        {"UnknownEffort",
         {{"--effort", "huge"}},
         "--effort: \"huge\" is not one of normal, high"},
        {"FrontierOfAPolicy",
         {{"--strategy", "dtr"}, {"--frontier", "f.csv"}},
         "--frontier: needs --strategy best"},
        {"FrontierInAMissingFolder",
         {{"--frontier", "/nowhere/f.csv"}},
         "--frontier: "},
        {"LmsOff", {{"--lms", "off"}}, "--lms: tune needs auto, v1 or v2"},
        {"FetchOfAModel", {{"--fetch", "x:0"}}, "--fetch: needs --graph"},
        {"NegativeTime", {{"--time_limit", "-1"}}, "--time_limit: \"-1\""},
        {"NoSuchProfile", {{"--profile", "/nowhere/x"}}, "--profile: "},
        {"OutInAMissingFolder", {{"--out", "/nowhere/plan"}}, "--out: "},
        {"TraceInAMissingFolder", {{"--trace", "/nowhere/x"}}, "--trace: "},
        {"ReportInAMissingFolder", {{"--report", "/nowhere/x"}}, "--report: "},
    }),
    [](const ::testing::TestParamInfo<BadTune>& instance) {
      return instance.param.name;
    });

// A valid profile with each field missing in turn, and each number invalid in
// turn.
TEST_F(TuneTest, SpoiltProfilesAreRefusedByField) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(ProfilePath("p100_pcie")));
  ASSERT_OK_AND_ASSIGN(const Json good, ParseJson(text, "profile"));
  const auto expect_refused = [&](const Json& spoilt,
                                  const std::string& field) {
    ASSERT_THAT(WriteFileAtomically(Path("bad"), spoilt.dump()),
                testing::IsOk());
    EXPECT_THAT(RunProgram(TuneResNet({{"--profile", Path("bad")}})),
                Refuses(2, AllOf(HasSubstr(Path("bad")),
                                 HasSubstr("\"" + field + "\""))));
  };
  for (const char* field :
       {"format", "name", "memory_bytes", "memory_bytes_per_second",
        "flops_per_second", "kernel_ns", "to_host", "to_device"}) {
    Json spoilt = good;
    spoilt.erase(field);
    expect_refused(spoilt, field);
    if (!good[field].is_number()) continue;
    for (const double number : {-1.0, 1e30}) {
      spoilt[field] = number;
      expect_refused(spoilt, field);
    }
  }
  for (const Json& number : {Json(-1), Json(0), Json(1e30), Json("fast")}) {
    Json spoilt = good;
    spoilt["to_host"]["bytes_per_second"] = number;
    expect_refused(spoilt, "bytes_per_second");
  }
}

}  // namespace
}  // namespace spillway

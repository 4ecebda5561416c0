// The program's reports about memory without running a step: `simulate
// --find_max_batch`, `inspect --memory` and --schedule.
#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "fmt/format.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using Json = nlohmann::ordered_json;

std::vector<std::string> Command(const std::string& command,
                                 std::vector<std::string> flags) {
  flags.insert(flags.begin(), {command, "--device", "cpu", "--threads", "1"});
  return flags;
}

std::vector<std::string> Lenet(const std::string& command,
                               std::vector<std::string> flags = {}) {
  flags.insert(flags.begin(), {"--model", "lenet"});
  return Command(command, std::move(flags));
}

class MaxBatchOfLenetTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MaxBatchOfLenetTest, FitsAndTheNextDoesNot) {
  const std::vector<std::string> budget = {"--lms", GetParam(),
                                           "--device_memory", "24MiB"};
  std::vector<std::string> flags = budget;
  flags.push_back("--find_max_batch");
  const Json found = RunForJson(Lenet("simulate", flags));
  const int64_t most = found["max_batch_size"];
  ASSERT_GT(most, 1);
  const auto simulate = [&](int64_t batch) {
    std::vector<std::string> with_batch = budget;
    with_batch.insert(with_batch.end(),
                      {"--batch_size", std::to_string(batch)});
    return RunProgram(Lenet("simulate", with_batch));
  };
  EXPECT_EQ(simulate(most).exit_status, 0);
  EXPECT_EQ(simulate(most - 1).exit_status, 0);
  const ProgramRun next = simulate(most + 1);
  EXPECT_EQ(next.exit_status, 3);
  EXPECT_THAT(next.out, HasSubstr("fits         no"));
  EXPECT_THAT(next.err, HasSubstr("missing"));
}

TEST_P(MaxBatchOfLenetTest, SaysWhatItTried) {
  const Json json = RunForJson(
      Lenet("simulate", {"--lms", GetParam(), "--device_memory", "24MiB",
                         "--batch_size", "5", "--find_max_batch"}));
  const int64_t most = json["max_batch_size"];
  EXPECT_EQ(json["tried"][0]["batch_size"], 5);
  int64_t largest_that_fits = 0;
  bool tried_the_next = false;
  for (const Json& tried : json["tried"]) {
    const int64_t batch = tried["batch_size"];
    EXPECT_EQ(tried["fits"].get<bool>(),
              tried["peak_device_bytes"].get<int64_t>() <= 24_MiB);
    EXPECT_EQ(tried["fits"].get<bool>(), batch <= most);
    if (batch <= most) {
      largest_that_fits = std::max(largest_that_fits, batch);
    }
    tried_the_next = tried_the_next || batch == most + 1;
    if (batch == most) {
      EXPECT_EQ(tried["peak_device_bytes"], json["peak_device_bytes"]);
      EXPECT_EQ(tried["peak_host_bytes"], json["peak_host_bytes"]);
    }
  }
  EXPECT_EQ(largest_that_fits, most);
  EXPECT_TRUE(tried_the_next);
  EXPECT_EQ(json["fits"], true);
}

INSTANTIATE_TEST_SUITE_P(
    Lms, MaxBatchOfLenetTest, ::testing::Values("off", "v1"),
    [](const ::testing::TestParamInfo<std::string>& instance) {
      return instance.param;
    });

TEST(FindMaxBatchFlagTest, SwappingMakesRoomForALargerBatch) {
  const auto most = [](const char* lms) {
    return RunForJson(Lenet(
        "simulate", {"--device_memory", "24MiB", "--find_max_batch", "--passes",
                     "none", "--lms", lms}))["max_batch_size"]
        .get<int64_t>();
  };
  EXPECT_GT(most("v1"), most("off"));
}

TEST(FindMaxBatchFlagTest, NotEvenOneImageIsAnAnswerThatDoesNotFit) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("result.json");
  const ProgramRun run =
      RunProgram(Lenet("simulate", {"--device_memory", "1MiB",
                                    "--find_max_batch", "--json", path}));
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_THAT(run.out, HasSubstr("largest batch 0\n"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("missing"),
                             HasSubstr("the smallest budget with these "
                                       "options is")));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, path));
  EXPECT_EQ(json["max_batch_size"], 0);
  EXPECT_EQ(json["fits"], false);
  EXPECT_FALSE(json["tried"].empty());
  EXPECT_EQ(json["tried"].back()["batch_size"], 1);
}

TEST(FindMaxBatchFlagTest, NeedsAModelAndABudget) {
  EXPECT_THAT(RunProgram(Command("simulate",
                                 {"--graph", "graph.json", "--find_max_batch",
                                  "--device_memory", "1GiB"})),
              Refuses(2, HasSubstr("--find_max_batch: needs --model")));
  EXPECT_THAT(RunProgram(Lenet("simulate", {"--find_max_batch"})),
              Refuses(2, HasSubstr("--find_max_batch: needs --device_memory")));
}

TEST(FindMaxBatchFlagTest, WithoutItNothingIsSearched) {
  const Json json = RunForJson(Lenet("simulate"));
  EXPECT_FALSE(json.contains("max_batch_size"));
  EXPECT_FALSE(json.contains("tried"));
}

// Checks the output of `inspect --memory` for one space.
void ExpectAddsUp(const Json& memory, const Json& steps) {
  const auto curve = memory["curve"].get<std::vector<int64_t>>();
  ASSERT_EQ(curve.size(), steps.size());
  const int64_t peak_bytes = memory["peak_bytes"];
  const auto peak_step = memory["peak_step"].get<size_t>();
  EXPECT_EQ(std::ranges::max_element(curve) - curve.begin(),
            static_cast<int64_t>(peak_step));
  EXPECT_EQ(curve[peak_step], peak_bytes);
  EXPECT_EQ(memory["peak_node"], steps[peak_step]);
  // The topmost buffer of the arena is not padded.
  EXPECT_GT(memory["bytes"].get<int64_t>(), peak_bytes - 256);
  int64_t bytes = 0;
  for (const Json& buffer : memory["at_peak"]) {
    bytes += AlignUp(buffer["bytes"].get<int64_t>(), 256);
    EXPECT_LE(buffer["from"].get<size_t>(), peak_step);
    EXPECT_GT(buffer["to"].get<size_t>(), peak_step);
    EXPECT_NE(buffer["reason"], "");
    EXPECT_NE(buffer["kind"], "");
  }
  EXPECT_EQ(bytes, peak_bytes);
}

TEST(InspectMemoryTest, TheResultAddsUp) {
  const Json plain =
      RunForJson(Lenet("inspect", {"--memory", "--optimizer", "momentum"}));
  ExpectAddsUp(plain["memory"]["device"], plain["memory"]["steps"]);
  EXPECT_TRUE(plain["memory"]["host"].is_null());
  EXPECT_EQ(plain["memory"]["device"]["bytes"],
            plain["unconstrained_peak_bytes"]);

  const Json swapped =
      RunForJson(Lenet("inspect", {"--memory", "--lms", "v1"}));
  ExpectAddsUp(swapped["memory"]["device"], swapped["memory"]["steps"]);
  ExpectAddsUp(swapped["memory"]["host"], swapped["memory"]["steps"]);
  EXPECT_GT(swapped["memory"]["host"]["bytes"].get<int64_t>(), 0);
}

TEST(InspectMemoryTest, IsThePlanThatSimulateMakes) {
  const std::vector<std::string> flags = {"--lms", "v1", "--device_memory",
                                          "17MiB"};
  std::vector<std::string> with_memory = flags;
  with_memory.push_back("--memory");
  const Json inspected = RunForJson(Lenet("inspect", with_memory))["memory"];
  const Json simulated = RunForJson(Lenet("simulate", flags));
  EXPECT_EQ(inspected["device"]["bytes"], simulated["peak_device_bytes"]);
  EXPECT_EQ(inspected["host"]["bytes"], simulated["peak_host_bytes"]);
}

TEST(InspectMemoryTest, TheTextHasTheCurveAndThePeak) {
  const ProgramRun run =
      RunProgram(Lenet("inspect", {"--memory", "--memory_rows", "3"}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("device memory, .* bytes\\)"));
  EXPECT_THAT(run.out, ContainsRegex("MiB \\|#+"));
  EXPECT_THAT(run.out, ContainsRegex("step 0 to [0-9]+\n"));
  EXPECT_THAT(run.out,
              ContainsRegex("peak .* at step [0-9]+, .*: [0-9]+ buffers\n"));
  EXPECT_THAT(run.out, HasSubstr("fc1/weights:0: variable: outlives a step"));
  EXPECT_THAT(run.out, ContainsRegex("in [0-9]+ smaller ones\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("host memory")));

  const ProgramRun swapped =
      RunProgram(Lenet("inspect", {"--memory", "--lms", "v1"}));
  EXPECT_THAT(swapped.out, HasSubstr("\nhost memory, "));
}

TEST(InspectMemoryTest, RowsAddUpToThePeakOfTheJson) {
  const ProgramRun run =
      RunProgram(Lenet("inspect", {"--memory", "--memory_rows", "1000"}));
  const Json json = RunForJson(Lenet("inspect", {"--memory"}));
  for (const Json& buffer : json["memory"]["device"]["at_peak"]) {
    EXPECT_THAT(run.out, HasSubstr(fmt::format(
                             "  {}: {}\n", buffer["buffer"].get<std::string>(),
                             buffer["reason"].get<std::string>())));
  }
  EXPECT_THAT(run.out, Not(HasSubstr("smaller ones")));
}

TEST(InspectMemoryTest, FlagsOfThePlanAreRefusedWithoutIt) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--lms", "v1"},
        {"--device_memory", "1GiB"},
        {"--host_memory", "1GiB"}}) {
    EXPECT_THAT(RunProgram(Lenet("inspect", flags)),
                Refuses(2, HasSubstr("--memory: needed with")));
  }
  EXPECT_THAT(RunProgram(Lenet("inspect", {"--memory_rows", "3"})),
              Refuses(2, HasSubstr("--memory")));
}

TEST(InspectMemoryTest, ABudgetThatIsTooSmallIsRefused) {
  EXPECT_THAT(
      RunProgram(Lenet("inspect", {"--memory", "--device_memory", "1MiB"})),
      Refuses(3, HasSubstr("missing")));
  EXPECT_THAT(RunProgram(Lenet("inspect", {"--memory", "--lms", "v1",
                                           "--host_memory", "1KiB"})),
              AllOf(::testing::Field(&ProgramRun::exit_status, 3),
                    ::testing::Field(&ProgramRun::err,
                                     HasSubstr("host swap pool exhausted"))));
}

// A network and the LMS mode of its plan.
struct Network {
  std::string model = {};
  std::string lms = {};
};

class ScheduleFlagTest : public ::testing::TestWithParam<Network> {};

TEST_P(ScheduleFlagTest, CreationOrderNeedsNoLessThanTheChosenOne) {
  const auto peak = [&](const char* schedule) {
    const Json json = RunForJson(Command(
        "simulate", {"--model", GetParam().model, "--lms", GetParam().lms,
                     "--batch_size", "2", "--schedule", schedule}));
    return json["peak_device_bytes"].get<int64_t>();
  };
  const int64_t least = peak("memory");
  EXPECT_GE(peak("creation"), least);
  EXPECT_EQ(peak("memory"), least);
}

INSTANTIATE_TEST_SUITE_P(Networks, ScheduleFlagTest,
                         ::testing::ValuesIn(std::vector<Network>{
                             {"lenet", "off"},
                             {"resnet20", "off"},
                             {"resnet20", "v1"},
                             {"googlenet", "off"},
                             {"densenet40_k12", "off"}}),
                         [](const ::testing::TestParamInfo<Network>& instance) {
                           return fmt::format("{}_{}", instance.param.model,
                                              instance.param.lms);
                         });

TEST(ScheduleTest, ThereAreTwo) {
  EXPECT_THAT(RunProgram(Lenet("simulate", {"--schedule", "random"})),
              Refuses(2, HasSubstr("--schedule")));
}

}  // namespace
}  // namespace spillway

// --place: steps below their floor, and what the commands say of them.
#include <string>
#include <vector>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using testing::ToArguments;
using testing::With;
using Json = nlohmann::ordered_json;

// The first dense layer of mnist_deep has 3136 x 1024 weights, 12.25 MiB; with
// momentum and a gradient, its update takes three times that.
constexpr const char* kBelowTheFloor = "20MiB";

FlagValues Placed(const FlagValues& flags) {
  return With(flags, {{"--device_memory", kBelowTheFloor},
                      {"--lms", "auto"},
                      {"--place", "auto"}});
}

const FlagValues kStep = {{"--model", "mnist_deep"},
                          {"--batch_size", "4"},
                          {"--optimizer", "momentum"},
                          {"--device", "cpu"},
                          {"--threads", "1"}};
const FlagValues kBench =
    With(kStep, {{"--num_warmup_batches", "1"}, {"--num_batches", "2"}});

Json PlacedJson(const std::string& command, const FlagValues& flags) {
  return RunForJson(ToArguments(command, flags));
}

TEST(PlaceTest, BenchRunsBelowTheFloorWithTheSameBits) {
  const Json free = PlacedJson("bench", kBench);
  EXPECT_FALSE(free.contains("host_nodes"));
  EXPECT_FALSE(free["lanes"].contains("host"));
  FlagValues flags = Placed(kBench);
  flags.erase("--place");
  EXPECT_THAT(
      RunProgram(ToArguments("bench", flags)),
      Refuses(3, AllOf(HasSubstr("the floor"), HasSubstr("(--place auto)"))));
  const Json placed = PlacedJson("bench", Placed(kBench));
  EXPECT_EQ(placed["checksum"], free["checksum"]);
  EXPECT_LE(placed["peak_device_bytes"]["measured"].get<int64_t>(), 20 << 20);
  for (const char* peak : {"peak_device_bytes", "peak_host_bytes"}) {
    EXPECT_EQ(placed[peak]["measured"], placed[peak]["predicted"]) << peak;
  }
  EXPECT_EQ(placed["host_nodes"]["place"], "auto");
  EXPECT_THAT(placed["host_nodes"]["nodes"].get<std::vector<std::string>>(),
              Contains(HasSubstr("update")));
  EXPECT_GE(placed["host_nodes"]["variable_bytes"].get<int64_t>(), 24 << 20);
  EXPECT_TRUE(placed["lanes"].contains("host"));
}

TEST(PlaceTest, EachModeKeepsTheBits) {
  const Json free = PlacedJson("bench", kBench);
  for (const char* mode : {"updates", "estimate", "force", "off"}) {
    SCOPED_TRACE(mode);
    const Json placed =
        PlacedJson("bench", With(kBench, {{"--place", mode},
                                          {"--device_memory", "100MiB"},
                                          {"--check_memory", "true"}}));
    EXPECT_EQ(placed["checksum"], free["checksum"]);
  }
}

TEST(PlaceTest, SimulateAndTuneShowTheHostsNodes) {
  const FlagValues flags = Placed(kStep);
  const Json simulated = PlacedJson("simulate", flags);
  EXPECT_EQ(simulated["fits"], true);
  EXPECT_GT(simulated["lanes"]["host"]["busy_ms"].get<double>(), 0);
  const testing::TemporaryFolder folder;
  const std::string plan = folder.File("plan.json");
  const Json tuned = PlacedJson("tune", With(flags, {{"--out", plan}}));
  EXPECT_EQ(tuned["host_nodes"]["nodes"], simulated["host_nodes"]["nodes"]);
  // The plan is that of the placed step.
  FlagValues planned = With(kBench, {{"--plan", plan},
                                     {"--device_memory", kBelowTheFloor},
                                     {"--place", "auto"}});
  const Json run = PlacedJson("bench", planned);
  EXPECT_LE(run["peak_device_bytes"]["measured"].get<int64_t>(), 20 << 20);
  planned.erase("--place");
  EXPECT_THAT(RunProgram(ToArguments("bench", planned)),
              Refuses(2, HasSubstr("--plan")));
}

TEST(PlaceTest, ATrainingGoesOnInTheOtherMemory) {
  const testing::TemporaryFolder folder;
  testing::WriteTinyData(folder.path());
  const FlagValues training = With(kStep, {{"--data", "mnist"},
                                           {"--data_dir", folder.path()},
                                           {"--seed", "3"},
                                           {"--learning_rate", "0.05"}});
  const Json whole =
      PlacedJson("train", With(training, {{"--num_steps", "6"}}));
  const FlagValues placed_training =
      With(training, {{"--place", "updates"}, {"--device_memory", "20MiB"}});
  const std::string state = folder.File("state");
  PlacedJson("train", With(placed_training,
                           {{"--num_steps", "3"}, {"--checkpoint", state}}));
  const Json rest = PlacedJson(
      "train", With(training, {{"--num_steps", "6"}, {"--resume", state}}));
  EXPECT_EQ(rest["checksum"], whole["checksum"]);
  const Json placed =
      PlacedJson("train", With(placed_training, {{"--num_steps", "6"}}));
  EXPECT_EQ(placed["checksum"], whole["checksum"]);
  EXPECT_EQ(placed["losses"], whole["losses"]);
  EXPECT_EQ(placed["epochs"][0]["test_accuracy"],
            whole["epochs"][0]["test_accuracy"]);
  EXPECT_THAT(placed["host_nodes"]["variables"].get<std::vector<std::string>>(),
              Not(IsEmpty()));
}

TEST(PlaceTest, AnUnknownModeIsRefused) {
  EXPECT_THAT(
      RunProgram(ToArguments("bench", With(kBench, {{"--place", "gpu"}}))),
      Refuses(2, AllOf(HasSubstr("--place"), HasSubstr("estimate"))));
}

}  // namespace
}  // namespace spillway

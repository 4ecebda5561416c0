// `spillway train` on a tiny data set.
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::Contains;
using testing::ExpectExactMemory;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::ProgramRun;
using testing::RunForJson;
using testing::RunProgram;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::ToArguments;
using Json = nlohmann::ordered_json;

class TrainTest : public ::testing::Test {
 protected:
  TrainTest() { testing::WriteTinyData(folder_.path()); }

  // A command line in which `flags` extend or replace the flags given here.
  std::vector<std::string> Arguments(const FlagValues& flags) const {
    FlagValues all = flags;
    all.insert({{"--model", "mnist_deep"},
                {"--data", "mnist"},
                {"--data_dir", folder_.path()},
                {"--batch_size", "16"},
                {"--num_epochs", "2"},
                {"--seed", "7"},
                {"--threads", "1"},
                {"--learning_rate", "0.05"}});
    return ToArguments("train", all);
  }
  Json TrainForJson(const FlagValues& flags) const {
    return RunForJson(Arguments(flags));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TrainTest, TheLossFalls) {
  const Json json = TrainForJson({{"--num_epochs", "8"}});
  ASSERT_THAT(json["epochs"], SizeIs(8));
  EXPECT_LT(json["epochs"][7]["loss"].get<double>(),
            0.8 * json["epochs"][0]["loss"].get<double>());
}

TEST_F(TrainTest, ATextIsLearntWithinABudgetBitwiseAsWithoutOne) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "all work and no play ";
  for (const char* name : {"train.txt", "test.txt"}) {
    ASSERT_THAT(WriteFileAtomically(folder_.File(name), text), IsOk());
  }
  const FlagValues flags = {{"--model", "gpt_tiny"},    {"--data", "text"},
                            {"--image_size", "16"},     {"--batch_size", "8"},
                            {"--optimizer", "adam"},    {"--num_epochs", "3"},
                            {"--learning_rate", "1e-3"}};
  const Json json = TrainForJson(flags);
  ASSERT_THAT(json["epochs"], SizeIs(3));
  EXPECT_LT(json["epochs"][2]["loss"].get<double>(),
            0.5 * json["epochs"][0]["loss"].get<double>());
  // The commonest byte is 4 of 21.
  EXPECT_GT(json["epochs"][2]["test_accuracy"].get<double>(), 0.5);

  const auto peak = json["peak_device_bytes"]["measured"].get<int64_t>();
  FlagValues smaller = flags;
  smaller["--device_memory"] = std::to_string(peak * 9 / 10);
  smaller["--lms"] = "auto";
  const Json within = TrainForJson(smaller);
  ExpectExactMemory(within);
  EXPECT_EQ(within["losses"], json["losses"]);
  EXPECT_EQ(within["checksum"], json["checksum"]);
}

TEST_F(TrainTest, TextsAndImagesAreNotConfused) {
  ASSERT_THAT(
      WriteFileAtomically(folder_.File("train.txt"), std::string(300, 'a')),
      IsOk());
  ASSERT_THAT(
      WriteFileAtomically(folder_.File("test.txt"), std::string(300, 'a')),
      IsOk());
  const auto error = [&](const FlagValues& flags) {
    const ProgramRun run = RunProgram(Arguments(flags));
    EXPECT_EQ(run.exit_status, 2);
    return run.err;
  };
  EXPECT_THAT(error({{"--model", "gpt_tiny"}}),
              HasSubstr("--data: mnist has images; gpt_tiny reads texts"));
  EXPECT_THAT(error({{"--data", "text"}}),
              HasSubstr("--data: text has texts; mnist_deep reads images"));
  EXPECT_THAT(error({{"--model", "gpt_tiny"},
                     {"--data", "text"},
                     {"--image_size", "300"}}),
              HasSubstr("a sample of 300 tokens needs at least 600"));
  // A label for each pixel.
  testing::WriteTinyData(folder_.path(), {.image_size = 16});
  EXPECT_THAT(error({{"--model", "unet2d"}}),
              HasSubstr("unet2d learns labels of shape [16, 16, 16]; those "
                        "of --data mnist have [16]"));
}

TEST_F(TrainTest, TheResultHasTheFieldsThatScriptsRead) {
  const Json json = TrainForJson({});
  EXPECT_THAT(json["epochs"], SizeIs(2));
  for (const Json& epoch : json["epochs"]) {
    for (const char* field : {"loss", "accuracy", "test_accuracy", "seconds",
                              "data_wait_seconds"}) {
      EXPECT_TRUE(epoch[field].is_number()) << field;
    }
    EXPECT_GT(epoch["data_wait_seconds"], 0);
    EXPECT_LE(epoch["data_wait_seconds"], epoch["seconds"]);
  }
  EXPECT_THAT(json["losses"], SizeIs(2 * (96 / 16)));
  EXPECT_EQ(json["checksum"].get<std::string>().size(), 16u);
  EXPECT_EQ(json["lms"]["mode"], "off");
  EXPECT_EQ(json["swap"]["out_bytes"], 0);
  ExpectExactMemory(json);
}

// For all LMS options, devices and link rates.
TEST_F(TrainTest, LmsDeviceAndLinkLeaveEveryBitAsItIs) {
  const Json plain = TrainForJson({{"--device", "inline"}});
  const std::vector<FlagValues> variants = {
      {{"--device", "cpu"}},
      {{"--device", "inline"}, {"--lms", "v1"}},
      {{"--device", "cpu"}, {"--lms", "v1"}},
      {{"--device", "cpu"}, {"--lms", "v1"}, {"--link_gbps", "0.2"}},
      {{"--device", "cpu"},
       {"--lms", "v1"},
       {"--lms_lb", "3"},
       {"--lms_n_tensors", "2"}},
      {{"--device", "cpu"},
       {"--lms", "v1"},
       {"--lms_ctrld_strategy", "direct_order"},
       {"--lms_compat", "true"}},
      {{"--device", "cpu"}, {"--check_memory", "true"}},
      {{"--device", "cpu"}, {"--lms", "v1"}, {"--check_memory", "true"}},
  };
  for (const FlagValues& variant : variants) {
    SCOPED_TRACE(::testing::PrintToString(variant));
    const Json json = TrainForJson(variant);
    EXPECT_EQ(json.value("check_memory", false),
              variant.contains("--check_memory"));
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    EXPECT_EQ(json["losses"], plain["losses"]);
    ExpectExactMemory(json);
    EXPECT_EQ(json["swap"]["out_bytes"].get<int64_t>() > 0,
              variant.contains("--lms"));
  }
}

TEST_F(TrainTest, RunsWithinTheSmallestBudgetAndNotBelowIt) {
  const Json free = TrainForJson({{"--lms", "v1"}});
  const int64_t least = free["peak_device_bytes"]["predicted"];
  const Json tight = TrainForJson(
      {{"--lms", "v1"}, {"--device_memory", std::to_string(least)}});
  EXPECT_EQ(tight["checksum"], free["checksum"]);
  EXPECT_LE(tight["peak_device_bytes"]["measured"].get<int64_t>(), least);

  const ProgramRun refused =
      RunProgram(Arguments({{"--device_memory", std::to_string(least - 1)},
                            {"--lms", "v1"},
                            {"--checkpoint", folder_.File("checkpoint")}}));
  EXPECT_EQ(refused.exit_status, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("missing"));
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(folder_.Names(), Not(Contains("checkpoint")));
}

TEST_F(TrainTest, SimulatePredictsThePeakOfTheRun) {
  const Json predicted =
      RunForJson(ToArguments("simulate", {{"--model", "mnist_deep"},
                                          {"--batch_size", "16"},
                                          {"--image_size", "12"},
                                          {"--threads", "1"},
                                          {"--lms", "v1"}}));
  const Json trained = TrainForJson({{"--lms", "v1"}});
  EXPECT_EQ(predicted["peak_device_bytes"],
            trained["peak_device_bytes"]["measured"]);
  EXPECT_EQ(predicted["peak_host_bytes"],
            trained["peak_host_bytes"]["measured"]);
  EXPECT_EQ(predicted["swap"], trained["swap"]);
}

TEST_F(TrainTest, ACheckpointHoldsEveryVariable) {
  const std::string path = folder_.File("checkpoint.safetensors");
  const Json json =
      TrainForJson({{"--optimizer", "momentum"}, {"--checkpoint", path}});
  ASSERT_OK_AND_ASSIGN(const TensorMap variables, ReadSafetensors(path));
  EXPECT_TRUE(variables.contains("conv1/weights"));
  EXPECT_TRUE(variables.contains("fc2/biases"));
  EXPECT_EQ(Checksum(variables), json["checksum"].get<std::string>());
}

// With learning rate zero, the weights stay as they were read.
TEST_F(TrainTest, RestoreStartsFromACheckpoint) {
  const std::string first = folder_.File("first.safetensors");
  const std::string second = folder_.File("second.safetensors");
  TrainForJson({{"--checkpoint", first}});
  TrainForJson({{"--restore", first},
                {"--seed", "8"},
                {"--learning_rate", "0"},
                {"--num_epochs", "1"},
                {"--checkpoint", second}});
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile before,
                       ReadSafetensorsFile(first));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile after,
                       ReadSafetensorsFile(second));
  EXPECT_EQ(Checksum(before.tensors), Checksum(after.tensors));
  // Two epochs of six steps; the others are counted from 0.
  const char* kNumbers = "spillway.step_numbers";
  EXPECT_THAT(before.metadata.at(kNumbers), StartsWith("[12,"));
  EXPECT_THAT(after.metadata.at(kNumbers), StartsWith("[6,"));
}

TEST_F(TrainTest, AnotherFileInPlaceOfACheckpointIsNamed) {
  const std::string path = folder_.File("result.json");
  ASSERT_EQ(RunProgram(Arguments({{"--json", path}})).exit_status, 0);
  const ProgramRun run = RunProgram(Arguments({{"--restore", path}}));
  EXPECT_EQ(run.exit_status, 2);
  for (const std::string& text :
       {"--restore: " + path + ": is not a safetensors file",
        std::string("; a checkpoint is needed")}) {
    EXPECT_THAT(run.err, HasSubstr(text));
  }
}

TEST_F(TrainTest, TheTraceShowsTheLastStepLaneByLane) {
  const std::string path = folder_.File("trace.json");
  TrainForJson({{"--lms", "v1"}, {"--trace", path}});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json trace, ParseJson(text, path));
  EXPECT_GT(trace["traceEvents"].size(), 50u);
  for (const char* track : {"compute", "copy out", "copy in"}) {
    EXPECT_THAT(text, HasSubstr(track));
  }
}

TEST_F(TrainTest, PrintsWhatItRecomputes) {
  const ProgramRun run = RunProgram(Arguments({{"--lms_recompute", "cheap"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nrecomputed   "));
}

TEST_F(TrainTest, PrintsEpochsThenMemoryAndSwaps) {
  const ProgramRun run = RunProgram(Arguments({{"--lms", "v1"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  for (const char* text :
       {"test accuracy", "device peak", "host peak", "bytes out", "checksum"}) {
    EXPECT_THAT(run.out, HasSubstr(text));
  }
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] Editing model for LMS"));
  EXPECT_THAT(run.err, Not(HasSubstr("\r")));
}

}  // namespace
}  // namespace spillway

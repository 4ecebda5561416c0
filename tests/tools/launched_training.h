// `train` on several ranks, which `launch` starts as processes, with tiny data.
#ifndef SPILLWAY_TESTS_TOOLS_LAUNCHED_TRAINING_H_
#define SPILLWAY_TESTS_TOOLS_LAUNCHED_TRAINING_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"

namespace spillway::testing {

class LaunchedTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(Path("data"));
    WriteTinyData(Path("data"));
  }

  FlagValues Flags(const FlagValues& more = {}) const {
    return With({{"--model", "lenet"},
                 {"--data", "mnist"},
                 {"--data_dir", Path("data")},
                 {"--device", "cpu"},
                 {"--threads", "1"},
                 {"--batch_size", "8"},
                 {"--num_steps", "7"},
                 {"--optimizer", "momentum"},
                 {"--json", Path("result.json")}},
                more);
  }

  ProgramRun Launch(int ranks, const FlagValues& flags) const {
    std::vector<std::string> arguments = {"launch", "-n", std::to_string(ranks),
                                          "--"};
    for (const std::string& word : ToArguments("train", flags)) {
      arguments.push_back(word);
    }
    return RunProgram(arguments);
  }

  // The result that rank 0 writes.
  nlohmann::ordered_json LaunchForJson(int ranks,
                                       const FlagValues& more) const {
    const ProgramRun run = Launch(ranks, Flags(more));
    EXPECT_EQ(run.exit_status, 0) << run.err;
    return Result();
  }

  nlohmann::ordered_json Result() const {
    const auto text = ReadFile(Path("result.json"));
    return text.ok() ? nlohmann::ordered_json::parse(*text)
                     : nlohmann::ordered_json();
  }

  // In one process.
  nlohmann::ordered_json TrainForJson(const FlagValues& more) const {
    const ProgramRun run = RunProgram(ToArguments("train", Flags(more)));
    EXPECT_EQ(run.exit_status, 0) << run.err;
    return Result();
  }

  nlohmann::ordered_json Alone(int group, const FlagValues& more) const {
    return TrainForJson(
        With(more, {{"--train_algo", "looped_minibatch"},
                    {"--parallel_batches", std::to_string(group)}}));
  }

  struct BadFlags {
    FlagValues flags;
    const char* error;
  };
  void ExpectRefused(const std::vector<BadFlags>& all) const {
    for (const BadFlags& bad : all) {
      EXPECT_THAT(RunProgram(ToArguments("train", Flags(bad.flags))),
                  Refuses(2, ::testing::HasSubstr(bad.error)));
    }
  }

  static void ExpectLossesNear(const nlohmann::ordered_json& result,
                               const nlohmann::ordered_json& expected,
                               double tolerance) {
    for (size_t i = 0; i < expected["losses"].size(); ++i) {
      EXPECT_NEAR(result["losses"][i].get<double>(),
                  expected["losses"][i].get<double>(), tolerance);
    }
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }

  TemporaryFolder folder_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TOOLS_LAUNCHED_TRAINING_H_

// `spillway train`: its loops, schedules and checkpoints, on a tiny data set.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/make_image.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ExpectExactMemory;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::NumCases;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunningProgram;
using testing::RunProgram;
using ::testing::SizeIs;
using testing::ToArguments;
using testing::With;
using Json = nlohmann::ordered_json;

MATCHER_P2(ExitsWith, exit_status, message, "") {
  return arg.exit_status == exit_status &&
         ::testing::ExplainMatchResult(message, arg.err, result_listener);
}

class TrainLoopTest : public ::testing::Test {
 protected:
  TrainLoopTest() { testing::WriteTinyData(folder_.path()); }  // 96 rows

  std::vector<std::string> Arguments(const FlagValues& flags) const {
    FlagValues all = flags;
    all.insert({{"--model", "mnist_deep"},
                {"--data", "mnist"},
                {"--data_dir", folder_.path()},
                {"--batch_size", "16"},
                {"--seed", "7"},
                {"--device", "cpu"},
                {"--threads", "1"},
                {"--learning_rate", "0.05"}});
    return ToArguments("train", all);
  }
  Json ForJson(const FlagValues& flags) const {
    return RunForJson(Arguments(flags));
  }
  Json DryRun(FlagValues flags) const {
    flags["--dry_run"] = "true";
    return ForJson(flags);
  }
  std::string Path(const std::string& name) const { return folder_.File(name); }

  testing::TemporaryFolder folder_;
};

const FlagValues kLooped = {{"--train_algo", "looped_minibatch"},
                            {"--parallel_batches", "3"}};

TEST_F(TrainLoopTest, ADryRunShowsRowsWeightsAndRates) {
  const Json dry = DryRun(With(kLooped, {{"--batch_size", "20"},
                                         {"--num_epochs", "2"},
                                         {"--lr_policy", "step"},
                                         {"--lr_step", "1"},
                                         {"--lr_gamma", "0.5"}}));
  EXPECT_EQ(dry["rows"], 96);
  EXPECT_EQ(dry["batch_size"], 20);
  EXPECT_EQ(dry["parallel_batches"], 3);
  EXPECT_EQ(dry["world_size"], 1);
  ASSERT_THAT(dry["updates"], SizeIs(4));
  const Json& last = dry["updates"][3];
  EXPECT_EQ(last["update"], 3);
  EXPECT_EQ(last["epoch"], 1);
  EXPECT_DOUBLE_EQ(last["learning_rate"].get<double>(), 0.025);
  ASSERT_THAT(last["windows"], SizeIs(2));  // 36 rows: 20 and 16
  const Json expected = {{"rank", 0},
                         {"micro", 1},
                         {"begin", 80},
                         {"end", 96},
                         {"weight", 16.0 / 36}};
  EXPECT_EQ(last["windows"][1], expected);
}

TEST_F(TrainLoopTest, ADryRunAsTextSaysHowManyUpdatesItLeavesOut) {
  const auto run = RunProgram(Arguments(
      {{"--dry_run", "true"}, {"--num_steps", "23"}, {"--batch_size", "20"}}));
  EXPECT_THAT(run.out, HasSubstr("...  3 more; --json FILE has them"));
}

TEST_F(TrainLoopTest, WarnsOfARateThatStaysWhereItIs) {
  const auto warning = [this](const FlagValues& policy) {
    return RunProgram(Arguments(With(policy, {{"--dry_run", "true"},
                                              {"--num_epochs", "3"}})))
        .err;
  };
  EXPECT_THAT(warning({{"--lr_policy", "step"}}),
              HasSubstr("--lr_policy step: the rate stays 0.05 to the last of "
                        "18 updates"));
  EXPECT_EQ(warning({{"--lr_policy", "step"}, {"--lr_step", "2"}}), "");
  EXPECT_EQ(warning({{"--lr_policy", "cosine"}}), "");
  EXPECT_EQ(warning({}), "");
}

// The loop takes what the dry run prints.
TEST_F(TrainLoopTest, ADryRunIsWhatTheTrainingDoes) {
  const std::vector<FlagValues> runs = {
      {{"--num_epochs", "2"}, {"--batch_size", "20"}},
      {{"--num_epochs", "2"}, {"--batch_size", "20"}, {"--tail", "drop"}},
      {{"--max_iter", "7"}, {"--tail", "drift"}, {"--batch_size", "40"}},
      {{"--train_algo", "batch"}, {"--num_steps", "2"}},
      With(kLooped, {{"--max_iter", "10"}, {"--lr_policy", "cosine"}}),
      With(kLooped, {{"--num_steps", "5"}, {"--tail", "wrap"}}),
      With(kLooped, {{"--train_algo", "allreduce_parallel_batches"},
                     {"--lr_policy", "poly"},
                     {"--lr_warmup_steps", "2"}}),
      {{"--train_algo", "Allreduce"}, {"--num_steps", "1"}},
      {{"--optimizer", "lbsgd"},
       {"--batch_scale", "2"},
       {"--warmup_epochs", "1"},
       {"--num_epochs", "2"}},
  };
  for (const FlagValues& flags : runs) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const Json dry = DryRun(flags);
    const Json run = ForJson(flags);
    std::vector<double> rates;
    for (const Json& update : dry["updates"]) {
      rates.push_back(update["learning_rate"]);
    }
    EXPECT_EQ(run["learning_rates"].get<std::vector<double>>(), rates);
    EXPECT_EQ(run["losses"].size(), rates.size());
    EXPECT_EQ(dry["updates"].back()["epoch"].get<int64_t>() + 1,
              static_cast<int64_t>(run["epochs"].size()));
    ExpectExactMemory(run);
  }
}

// Three batches of 16 are one of 48, to rounding, for a network without batch
// norm and dropout.
TEST_F(TrainLoopTest, ALoopOfBatchesTrainsLikeALargeOne) {
  const FlagValues plain = {{"--model", "lenet"}, {"--num_epochs", "2"}};
  const Json looped = ForJson(With(plain, kLooped));
  const Json parallel = ForJson(With(
      With(plain, kLooped), {{"--train_algo", "allreduce_parallel_batches"}}));
  const Json large = ForJson(With(plain, {{"--batch_size", "48"}}));
  EXPECT_EQ(looped["checksum"], parallel["checksum"]);
  EXPECT_EQ(looped["losses"], parallel["losses"]);
  ASSERT_EQ(looped["losses"].size(), large["losses"].size());
  for (size_t i = 0; i < large["losses"].size(); ++i) {
    EXPECT_NEAR(looped["losses"][i].get<double>(),
                large["losses"][i].get<double>(), 1e-4);
  }
}

TEST_F(TrainLoopTest, ABudgetChangesNoBitOfALoop) {
  const FlagValues flags = With(kLooped, {{"--optimizer", "momentum"}});
  const Json free = ForJson(flags);
  const int64_t peak = free["peak_device_bytes"]["predicted"];
  const Json tight =
      ForJson(With(flags, {{"--device_memory", std::to_string(peak - 4096)},
                           {"--lms", "auto"}}));
  EXPECT_EQ(tight["checksum"], free["checksum"]);
  EXPECT_EQ(tight["losses"], free["losses"]);
  EXPECT_LE(tight["peak_device_bytes"]["measured"].get<int64_t>(), peak - 4096);
  ExpectExactMemory(tight);
}

TEST_F(TrainLoopTest, PrintsTheLinesOfSystemMl) {
  const ProgramRun run =
      RunProgram(Arguments({{"--max_iter", "10"},
                            {"--display", "4"},
                            {"--test_iter", "1"},
                            {"--test_interval", "5"},
                            {"--snapshot", "6"},
                            {"--snapshot_prefix", Path("net")}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  for (const char* text : {"Iter:4, training loss:", ", training accuracy:",
                           "Iter:8, training loss:", "Iter:5, validation loss:",
                           "Iter:10, validation loss:"}) {
    EXPECT_THAT(run.out, HasSubstr(text));
  }
  EXPECT_THAT(run.out, Not(HasSubstr("Iter:12")));
  EXPECT_THAT(folder_.Names(), Contains("net_iter_6.safetensors"));
  // In groups, intervals are reached or passed.
  const ProgramRun groups =
      RunProgram(Arguments(With(kLooped, {{"--max_iter", "6"},
                                          {"--display", "2"},
                                          {"--test_iter", "1"},
                                          {"--test_interval", "4"}})));
  ASSERT_EQ(groups.exit_status, 0) << groups.err;
  EXPECT_THAT(groups.out, AllOf(HasSubstr("Iter:2, training loss:"),
                                HasSubstr("Iter:4, training loss:"),
                                HasSubstr("Iter:5, validation loss:")));
}

TEST_F(TrainLoopTest, ResumesBitwise) {
  const std::vector<FlagValues> runs = {
      {{"--optimizer", "momentum"}},
      With(kLooped, {{"--optimizer", "adam"}, {"--batch_size", "20"}}),
      {{"--lr_policy", "cosine"}, {"--tail", "wrap"}, {"--batch_size", "20"}}};
  for (FlagValues flags : runs) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    flags["--num_steps"] = "9";
    if (flags.contains("--lr_policy")) flags["--lr_max_update"] = "9";
    const Json whole = ForJson(flags);
    const std::string path = Path("state.safetensors");
    flags["--checkpoint"] = path;
    ForJson(With(flags, {{"--num_steps", "4"}}));
    const Json rest = ForJson(With(flags, {{"--resume", path}}));
    EXPECT_EQ(rest["checksum"], whole["checksum"]);
    const auto losses = whole["losses"].get<std::vector<double>>();
    EXPECT_EQ(rest["losses"].get<std::vector<double>>(),
              std::vector<double>(losses.begin() + 4, losses.end()));
    // Once more: nothing is left to do.
    const Json done = ForJson(With(flags, {{"--resume", "auto"}}));
    EXPECT_THAT(done["losses"], SizeIs(0));
    EXPECT_EQ(done["checksum"], whole["checksum"]);
    EXPECT_THAT(RunProgram(Arguments(With(flags, {{"--resume", "auto"}}))).out,
                HasSubstr("no step was left to do"));
  }
}

TEST_F(TrainLoopTest, KeepsSoManyCheckpoints) {
  const std::string path = Path("state");
  const Json json = ForJson({{"--num_steps", "7"},
                             {"--checkpoint", path},
                             {"--checkpoint_every", "2"},
                             {"--keep_checkpoints", "3"}});
  const auto updates = [&](const std::string& name) {
    const auto file = ReadSafetensorsFile(Path(name));
    if (!file.ok()) return std::string(file.status().message());
    return file->metadata.at("spillway.training").substr(0, 13);
  };
  EXPECT_EQ(updates("state"), "{\"updates\":7,");
  EXPECT_EQ(updates("state.1"), "{\"updates\":6,");
  EXPECT_EQ(updates("state.2"), "{\"updates\":4,");
  EXPECT_THAT(folder_.Names(), Not(Contains("state.3")));
  EXPECT_THAT(folder_.Names(), Not(Contains("state.new")));
  // The newest is damaged: the one before it.
  ASSERT_THAT(WriteFileAtomically(path, "half a file"), testing::IsOk());
  const Json resumed = ForJson(
      {{"--num_steps", "7"}, {"--checkpoint", path}, {"--resume", "auto"}});
  EXPECT_THAT(resumed["losses"], SizeIs(1));
  EXPECT_EQ(resumed["checksum"], json["checksum"]);
}

TEST_F(TrainLoopTest, ResumeAutoBeginsWhereThereIsNothing) {
  const Json plain = ForJson({{"--num_steps", "3"}});
  const Json json = ForJson({{"--num_steps", "3"},
                             {"--checkpoint", Path("new")},
                             {"--resume", "auto"}});
  EXPECT_EQ(json["checksum"], plain["checksum"]);
}

TEST_F(TrainLoopTest, ResumingAnotherTrainingIsRefused) {
  const std::string path = Path("state");
  ForJson({{"--num_steps", "3"}, {"--checkpoint", path}});
  EXPECT_THAT(
      RunProgram(Arguments(
          {{"--num_steps", "9"}, {"--batch_size", "12"}, {"--resume", path}})),
      Refuses(2, AllOf(HasSubstr("--resume: "), HasSubstr("batches of 16"),
                       HasSubstr("batches of 12"))));
  EXPECT_THAT(RunProgram(Arguments({{"--num_steps", "2"}, {"--resume", path}})),
              Refuses(2, HasSubstr("has done 3 updates, more than the 2")));
  EXPECT_THAT(RunProgram(Arguments({{"--num_steps", "9"},
                                    {"--optimizer", "momentum"},
                                    {"--resume", path}})),
              Refuses(2, HasSubstr("of another optimizer")));
  EXPECT_THAT(RunProgram(Arguments(
                  {{"--num_steps", "2"}, {"--resume", Path("nowhere")}})),
              Refuses(2, HasSubstr("--resume: ")));
}

// Killed at random moments, it loses no more than the updates since the last
// checkpoint, and ends bitwise as the uninterrupted training.
TEST_F(TrainLoopTest, SurvivesBeingKilledAtAnyMoment) {
  const std::string steps = testing::kHasSanitizer ? "150" : "800";
  const FlagValues flags = With(kLooped, {{"--optimizer", "momentum"},
                                          {"--batch_size", "4"},
                                          {"--num_steps", steps}});
  FlagValues saved = flags;
  saved["--checkpoint"] = Path("state");
  saved["--checkpoint_every"] = "3";
  saved["--keep_checkpoints"] = "2";
  saved["--resume"] = "auto";
  const uint64_t seed = 2026;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  int killed = 0;
  for (int i = 0; i < NumCases(100); ++i) {
    RunningProgram program({.arguments = Arguments(saved)});
    // The first is killed after its first checkpoint, so that there is a whole
    // one from here on, however slow the machine.
    for (int wait = 0; i == 0 && wait < 60'000; ++wait) {
      if (std::filesystem::exists(Path("state"))) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
    program.Send(SIGKILL);
    const ProgramRun run = program.Wait();
    ASSERT_TRUE(run.exit_status == 128 + SIGKILL || run.exit_status == 0)
        << run.err;
    killed += run.exit_status == 0 ? 0 : 1;
  }
  EXPECT_GT(killed, 0);
  const auto file = ReadSafetensorsFile(Path("state"));
  ASSERT_THAT(file, testing::IsOk());  // whole
  const Json whole = ForJson(flags);
  const Json rest = ForJson(saved);
  EXPECT_EQ(rest["checksum"], whole["checksum"]);
  const auto losses = whole["losses"].get<std::vector<double>>();
  const auto tail = rest["losses"].get<std::vector<double>>();
  ASSERT_LE(tail.size(), losses.size());
  EXPECT_EQ(tail, std::vector<double>(
                      losses.end() - static_cast<ptrdiff_t>(tail.size()),
                      losses.end()));
}

TEST_F(TrainLoopTest, ChecksAndMetricsAreChosen) {
  const Json top = ForJson({{"--num_steps", "1"}, {"--top_k", "3"}});
  EXPECT_GE(top["epochs"][0]["test_top_k_accuracy"].get<double>(),
            top["epochs"][0]["test_accuracy"].get<double>());
  const Json all = ForJson({{"--num_steps", "1"}, {"--top_k", "99"}});
  EXPECT_EQ(all["epochs"][0]["test_top_k_accuracy"], 1.0);

  const Json plain = ForJson({{"--num_steps", "3"}});
  for (const FlagValues& flags :
       {FlagValues{{"--check_finite", "true"}},
        FlagValues{{"--loss_scale", "dynamic"}},
        FlagValues{{"--fused_update", "false"}},
        FlagValues{{"--clip_norm", "1e9"}, {"--clip_value", "1e9"}}}) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const Json json = ForJson(With(flags, {{"--num_steps", "3"}}));
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    ExpectExactMemory(json);
  }
  const Json clipped = ForJson({{"--num_steps", "3"}, {"--clip_norm", "0.1"}});
  EXPECT_NE(clipped["checksum"], plain["checksum"]);
  for (const FlagValues& flags :
       {FlagValues{{"--check_finite", "true"}},
        FlagValues{{"--loss_scale", "dynamic"}, {"--num_epochs", "9"}}}) {
    EXPECT_THAT(
        RunProgram(Arguments(With(flags, {{"--learning_rate", "1e30"}}))),
        ExitsWith(4, HasSubstr("update ")));
  }
}

TEST_F(TrainLoopTest, TrainsOnAFolderOfImages) {
  testing::TemporaryFolder images;
  for (int i = 0; i < 12; ++i) {
    for (const char* name :
         {"train/dark", "train/light", "val/dark", "val/light"}) {
      const std::string folder = images.File(name);
      std::filesystem::create_directories(folder);
      const char grey = static_cast<char>(
          (std::string(name).ends_with("dark") ? 20 : 90) + i);
      const std::string png = testing::MakePng(
          {.height = 16, .width = 20, .rows = std::string(20 * 16 * 3, grey)});
      ASSERT_THAT(
          WriteFileAtomically(folder + "/" + std::to_string(i) + ".png", png),
          testing::IsOk());
    }
  }
  const FlagValues flags = {{"--data", "image_folder"},
                            {"--data_dir", images.path()},
                            {"--image_size", "12"},
                            {"--batch_size", "8"},
                            {"--num_epochs", "8"}};
  const Json json = ForJson(flags);
  EXPECT_EQ(json["epochs"].back()["test_accuracy"], 1.0);
  // Also in two parts, with the same crops and flips.
  const FlagValues saved =
      With(flags, {{"--checkpoint", Path("images")}, {"--num_epochs", "3"}});
  ForJson(saved);
  EXPECT_EQ(ForJson(With(flags, {{"--resume", Path("images")}}))["checksum"],
            json["checksum"]);
  EXPECT_THAT(
      RunProgram(Arguments(With(flags, {{"--data_dir", Path("nowhere")}}))),
      Refuses(2, HasSubstr("--data_dir: ")));
}

TEST_F(TrainLoopTest, ExplainsRemedies) {
  const Json json =
      RunForJson(ToArguments("tune", {{"--model", "lenet"},
                                      {"--batch_size", "64"},
                                      {"--profile", "p100_pcie"},
                                      {"--device_memory", "17MiB"},
                                      {"--explain_remedy", "true"}}));
  EXPECT_EQ(json["case"], "small_batch");
  EXPECT_EQ(json["remedies"][0]["name"], "swapping");
  EXPECT_EQ(json["remedies"][3]["name"], "updates on the host");
  EXPECT_EQ(json["remedies"][4]["name"], "looped_minibatch 2 x 32");
  EXPECT_THAT(RunProgram({"tune", "--graph", "g.json", "--explain_remedy"}),
              Refuses(2, HasSubstr("--explain_remedy: needs")));
}

TEST_F(TrainLoopTest, InitializersAndLbsgdAreChosen) {
  const Json zero = ForJson(
      {{"--num_steps", "1"}, {"--initializer", "zero"}, {"--model", "lenet"}});
  EXPECT_NEAR(zero["losses"][0].get<double>(), 2.302585, 1e-4);  // ln 10
  const Json lbsgd = DryRun({{"--optimizer", "lbsgd"},
                             {"--macrobatch_size", "60"},
                             {"--batch_size", "16"},
                             {"--warmup_epochs", "2"}});
  EXPECT_EQ(lbsgd["parallel_batches"], 4);
  // 6 batches an epoch, so the climb takes 12: from 1 to 4 times the rate.
  EXPECT_DOUBLE_EQ(lbsgd["updates"][1]["learning_rate"].get<double>(),
                   0.05 * (1 + 3 * 4.0 / 12));
}

TEST_F(TrainLoopTest, BadInputIsNamed) {
  struct Row {
    FlagValues flags;
    std::string error;
  };
  const std::vector<Row> rows = {
      {{{"--train_algo", "looped"}}, "--train_algo: \"looped\" is not one of"},
      {{{"--train_algo", "looped_minibatch"}},
       "--train_algo looped_minibatch needs --parallel_batches"},
      {With(kLooped, {{"--parallel_batches", "0"}}), "--parallel_batches"},
      {With(kLooped, {{"--parallel_batches", "7"}, {"--tail", "drop"}}),
       "--parallel_batches: 7 batches of 16 rows are more than the 96 rows; "
       "with tail drop at most 6 fit"},
      {With(kLooped, {{"--tail", "drift"}}), "--tail: drift is for"},
      {{{"--num_steps", "3"}, {"--num_epochs", "2"}}, "--num_epochs"},
      {{{"--batch_size", "97"}}, "--batch_size: a batch of 97 is more than"},
      {{{"--lr_policy", "steps"}}, "--lr_policy"},
      {{{"--lr_policy", "step"}, {"--lr_gamma", "1.5"}},
       "gamma is 1.5; it must be more than 0 and at most 1"},
      {{{"--lr_policy", "piecewise"}}, "--lr_policy"},
      {{{"--lr_warmup_steps", "3"}, {"--lr_warmup_begin", "1"}},
       "warmup.begin is 1; it must be at most the rate, 0.05"},
      {{{"--batch_scale", "2"}}, "--batch_scale needs --optimizer lbsgd"},
      {With(kLooped, {{"--optimizer", "lbsgd"}, {"--batch_scale", "2"}}),
       "--parallel_batches: an update of lbsgd takes --batch_scale (2)"},
      {{{"--initializer", "constant"}},
       "--initializer: initializer constant: scale, the value, is missing"},
      {{{"--initializer", "he"}}, "--initializer"},
      {{{"--test_iter", "2"}, {"--batch_size", "16"}},
       "--test_iter: 2 batches of 16 are more than 30 % of the 96 rows; at "
       "most 1 is possible"},
      {{{"--snapshot", "2"}}, "--snapshot needs --snapshot_prefix"},
      {{{"--resume", "auto"}}, "--resume auto needs --checkpoint"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.error);
    EXPECT_THAT(RunProgram(Arguments(row.flags)),
                Refuses(2, HasSubstr(row.error)));
  }
}

}  // namespace
}  // namespace spillway

// SIGINT and SIGTERM during the program's work.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"
#include "tests/tools/tuned_step.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ProgramRun;
using testing::RunForJson;
using testing::RunningProgram;
using ::testing::StartsWith;
using testing::ToArguments;
using Json = nlohmann::ordered_json;

constexpr const char* kConfirmed = "a second signal ends at once";

// Signals less than 50 ms after the first count as the first.
void LetSignalsDiffer() {
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

struct Signal {
  int number = 0;
  std::string name = {};
  int exit_status = 0;
};

// Commands and the files that they write.
class OneInterruptTest : public ::testing::Test {
 protected:
  OneInterruptTest() { testing::WriteTinyData(folder_.path()); }

  std::string Path(const std::string& name) const { return folder_.File(name); }

  // Endless, unless `flags` limit it.
  std::vector<std::string> Train(const FlagValues& flags) const {
    FlagValues all = flags;
    all.insert({{"--model", "mnist_deep"},
                {"--data", "mnist"},
                {"--data_dir", folder_.path()},
                {"--batch_size", "16"},
                {"--num_epochs", "1000000"},
                {"--threads", "1"},
                {"--device", "cpu"}});
    return ToArguments("train", all);
  }

  static std::vector<std::string> Bench(const FlagValues& flags) {
    FlagValues all = flags;
    all.insert({{"--model", "lenet"},
                {"--batch_size", "4"},
                {"--num_batches", "1000000000"},
                {"--num_warmup_batches", "1"},
                {"--display_every", "1000000000"},
                {"--threads", "1"},
                {"--device", "cpu"}});
    return ToArguments("bench", all);
  }

  Json ReadJson(const std::string& name) const {
    const auto text = ReadFile(Path(name));
    EXPECT_THAT(text, testing::IsOk());
    const auto json = ParseJson(text.value_or(""), name);
    EXPECT_THAT(json, testing::IsOk());
    return json.ok() ? *json : Json();
  }

  testing::TemporaryFolder folder_;
};

class InterruptTest : public OneInterruptTest,
                      public ::testing::WithParamInterface<Signal> {
 protected:
  // Sends the signal once the first number of tried candidates is shown.
  ProgramRun InterruptTune(const FlagValues& flags) const {
    FlagValues all = flags;
    all.insert({{"--batch_size", "32"},
                {"--profile", testing::ProfilePath("p100_pcie")},
                {"--json", Path("json")},
                {"--out", Path("plan")}});
    RunningProgram program(
        {.arguments = ToArguments("tune", all), .has_terminal = true});
    EXPECT_TRUE(program.WaitFor("tuning: "));
    program.Send(GetParam().number);
    ProgramRun run = program.Wait();
    EXPECT_EQ(run.exit_status, GetParam().exit_status);
    EXPECT_EQ(ReadJson("json")["interrupted"], true);
    return run;
  }
};

TEST_P(InterruptTest, TrainFinishesTheStepAndWritesEverything) {
  RunningProgram program({.arguments = Train({{"--json", Path("json")},
                                              {"--checkpoint", Path("saved")},
                                              {"--trace", Path("trace")}})});
  ASSERT_TRUE(program.WaitFor("    1    "));
  program.Send(GetParam().number);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, GetParam().exit_status);
  EXPECT_THAT(run.out, AllOf(HasSubstr("\ninterrupted  after "),
                             HasSubstr(" of 6000000 steps, "),
                             HasSubstr("device peak"), HasSubstr("checksum")));
  EXPECT_THAT(run.err, AllOf(HasSubstr("spillway: " + GetParam().name +
                                       ": ends after this step"),
                             HasSubstr("spillway: interrupted by " +
                                       GetParam().name + " after ")));

  const Json json = ReadJson("json");
  EXPECT_EQ(json["interrupted"], true);
  const int64_t steps = json["steps_done"];
  EXPECT_THAT(run.out, HasSubstr("after " + std::to_string(steps) + " of"));
  EXPECT_EQ(json["losses"].size(), static_cast<size_t>(steps));
  EXPECT_EQ(json["epochs_done"], steps / 6);
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile saved,
                       ReadSafetensorsFile(Path("saved")));
  EXPECT_EQ(Checksum(saved.tensors), json["checksum"].get<std::string>());
  EXPECT_THAT(saved.metadata.at("spillway.step_numbers"),
              StartsWith("[" + std::to_string(steps) + ","));
  EXPECT_GT(ReadJson("trace")["traceEvents"].size(), 50u);

  // An uninterrupted run is bitwise identical.
  const Json whole =
      RunForJson(Train({{"--num_epochs", std::to_string(steps / 6 + 1)}}));
  EXPECT_EQ(whole["interrupted"], false);
  EXPECT_EQ(whole["steps_done"], 6 * (steps / 6 + 1));
  const std::vector<double> losses = whole["losses"];
  EXPECT_EQ(json["losses"].get<std::vector<double>>(),
            std::vector<double>(losses.begin(), losses.begin() + steps));
}

TEST_P(InterruptTest, BenchIsAsAShorterBench) {
  RunningProgram program({.arguments = Bench({{"--json", Path("json")},
                                              {"--checkpoint", Path("saved")},
                                              {"--report", Path("report")},
                                              {"--trace", Path("trace")}})});
  ASSERT_TRUE(program.WaitFor("1\timages/sec"));
  program.Send(GetParam().number);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, GetParam().exit_status);
  EXPECT_THAT(run.out, AllOf(HasSubstr("total images/sec: "),
                             HasSubstr("\ninterrupted  after "),
                             HasSubstr("overlap"), HasSubstr("checksum")));
  EXPECT_THAT(run.err, HasSubstr("interrupted by " + GetParam().name));
  EXPECT_THAT(folder_.Names(),
              AllOf(Contains("saved"), Contains("report"), Contains("trace")));
  const Json json = ReadJson("json");
  EXPECT_EQ(json["interrupted"], true);
  const int64_t steps = json["steps_done"];
  EXPECT_EQ(json["losses"].size(), static_cast<size_t>(steps));
  EXPECT_GT(json["total_images_per_sec"].get<double>(), 0);

  const Json shorter =
      RunForJson(Bench({{"--num_batches", std::to_string(steps)},
                        {"--checkpoint", Path("of the shorter")}}));
  EXPECT_EQ(shorter["interrupted"], false);
  EXPECT_EQ(shorter["checksum"], json["checksum"]);
  EXPECT_EQ(shorter["losses"], json["losses"]);
  ASSERT_OK_AND_ASSIGN(const std::string saved, ReadFile(Path("saved")));
  ASSERT_OK_AND_ASSIGN(const std::string of_shorter,
                       ReadFile(Path("of the shorter")));
  EXPECT_TRUE(saved == of_shorter);
}

TEST_P(InterruptTest, BenchInWarmUpHasNoSpeed) {
  RunningProgram program(
      {.arguments = Bench({{"--num_warmup_batches", "1000000000"},
                           {"--json", Path("json")},
                           {"--report", Path("report")}})});
  ASSERT_TRUE(program.WaitFor("Running warm up"));
  program.Send(GetParam().number);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, GetParam().exit_status);
  EXPECT_THAT(run.out, AllOf(HasSubstr("total images/sec: 0.00"),
                             HasSubstr("after 0 of 1000000000 timed steps"),
                             HasSubstr("checksum")));
  const Json json = ReadJson("json");
  EXPECT_EQ(json["steps_done"], 0);
  for (const char* field : {"images_per_sec", "images_per_sec_uncertainty",
                            "jitter", "total_images_per_sec", "step_ms"}) {
    EXPECT_TRUE(json[field].is_null()) << field;
  }
  EXPECT_THAT(folder_.Names(), Contains("report"));
}

// A network of few variables and large activations: over this link its setup
// takes half a second and a step takes minutes.
TEST_P(InterruptTest, TheSecondSignalDoesNotWaitForTheStep) {
  testing::WriteTinyData(folder_.path(), {.image_size = 32});
  const FlagValues flags = {{"--model", "cifar10_full"},
                            {"--batch_size", "96"},
                            {"--lms", "v1"},
                            {"--link_gbps", "0.001"},
                            {"--json", Path("json")},
                            {"--checkpoint", Path("saved")}};
  for (const std::vector<std::string>& arguments :
       {Train(flags), Bench(flags)}) {
    SCOPED_TRACE(arguments[0]);
    RunningProgram program({.arguments = arguments});
    ASSERT_TRUE(program.WaitFor(arguments[0] == "train" ? "test accuracy"
                                                        : "Running warm up"));
    program.Send(GetParam().number);
    ASSERT_TRUE(program.WaitFor(kConfirmed));
    LetSignalsDiffer();
    program.Send(GetParam().number);
    const ProgramRun run = program.Wait();
    EXPECT_EQ(run.exit_status, GetParam().exit_status);
    EXPECT_THAT(run.out, Not(HasSubstr("checksum")));
    EXPECT_THAT(folder_.Names(),
                AllOf(Not(Contains("saved")), Not(Contains("json"))));
  }
}

// Looks for a time at which a candidate fits and the search still runs.
TEST_P(InterruptTest, TuneReportsTheBestSoFar) {
  const FlagValues flags = {{"--model", "resnet152"},
                            {"--batch_size", "32"},
                            {"--profile", testing::ProfilePath("p100_pcie")},
                            {"--device_memory", "2.5GiB"},
                            {"--json", Path("json")},
                            {"--out", Path("plan")}};
  bool was_chosen = false;
  std::chrono::milliseconds delay(1000);
  for (int attempt = 0; attempt < 8 && !was_chosen; ++attempt) {
    unlink(Path("plan").c_str());
    RunningProgram program(
        {.arguments = ToArguments("tune", flags), .has_terminal = true});
    ASSERT_TRUE(program.WaitFor("tuning: "));
    std::this_thread::sleep_for(delay);
    program.Send(GetParam().number);
    const ProgramRun run = program.Wait();
    const Json json = ReadJson("json");
    if (run.exit_status == 0) {
      delay /= 2;  // the search had ended
      continue;
    }
    EXPECT_EQ(run.exit_status, GetParam().exit_status);
    EXPECT_EQ(json["interrupted"], true);
    was_chosen = !json["chosen"].is_null();
    if (!was_chosen) {
      delay += delay / 2;
      continue;
    }
    EXPECT_THAT(run.out, HasSubstr("\ninterrupted  after "));
    EXPECT_THAT(run.err, HasSubstr("the best so far is chosen"));
    EXPECT_THAT(folder_.Names(), Contains("plan"));
  }
  EXPECT_TRUE(was_chosen);
}

// The tuner calls the stop request for the first time after the step without
// swaps did not fit.
TEST_P(InterruptTest, TuneWithoutAnythingThatFitsSavesNothing) {
  const ProgramRun run = InterruptTune(
      {{"--model", "nasnetlarge"}, {"--device_memory", "0.5GiB"}});
  EXPECT_THAT(run.err, HasSubstr("before a plan was chosen"));
  EXPECT_TRUE(ReadJson("json")["chosen"].is_null());
  EXPECT_THAT(folder_.Names(), Not(Contains("plan")));
}

TEST_P(InterruptTest, TheSearchForTheLargestBatchReportsWhatItTried) {
  const ProgramRun run = InterruptTune({{"--model", "resnet152"},
                                        {"--device_memory", "2.5GiB"},
                                        {"--find_max_batch", "true"}});
  EXPECT_THAT(run.out, HasSubstr("largest batch "));
  const Json json = ReadJson("json");
  EXPECT_TRUE(json["max_batch_size"].is_number());
  EXPECT_TRUE(json["tried_batches"].is_array());
  EXPECT_THAT(folder_.Names(), Not(Contains("plan")));
}

TEST_P(InterruptTest, ProfileWritesNothing) {
  const std::vector<std::string> arguments = {"profile",
                                              "--model",
                                              "lenet",
                                              "--batch_size",
                                              "2",
                                              "--num_batches",
                                              "1000000",
                                              "--threads",
                                              "1",
                                              "--out",
                                              Path("profile"),
                                              "--json",
                                              Path("json"),
                                              "--device",
                                              "cpu"};
  for (const char* part : {"link, memory, rates", "kernels"}) {
    SCOPED_TRACE(part);
    RunningProgram program({.arguments = arguments, .has_terminal = true});
    ASSERT_TRUE(program.WaitFor(part));
    program.Send(GetParam().number);
    const ProgramRun run = program.Wait();
    EXPECT_EQ(run.exit_status, GetParam().exit_status);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr("nothing was written to"));
    EXPECT_THAT(folder_.Names(),
                AllOf(Not(Contains("profile")), Not(Contains("json"))));
  }
}

// Ending at once loses nothing.
TEST_P(InterruptTest, AShortCommandEndsAtOnce) {
  const std::string fifo = Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // Blocks while it opens the graph, a named pipe without a writer.
  RunningProgram program({.arguments = {"inspect", "--graph", fifo}});
  const int writer = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);  // now the program has opened the file
  program.Send(GetParam().number);
  EXPECT_EQ(program.Wait().exit_status, GetParam().exit_status);
  close(writer);
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptTest,
                         ::testing::Values(Signal{SIGINT, "SIGINT", 130},
                                           Signal{SIGTERM, "SIGTERM", 143}),
                         [](const ::testing::TestParamInfo<Signal>& instance) {
                           return instance.param.name;
                         });

TEST_F(OneInterruptTest, AnIgnoredSignalStaysIgnored) {
  const auto old = std::signal(SIGINT, SIG_IGN);
  RunningProgram program({.arguments = Train({}), .inherits_signals = true});
  std::signal(SIGINT, old);
  ASSERT_TRUE(program.WaitFor("    1    "));
  program.Send(SIGINT);
  ASSERT_TRUE(program.WaitFor("    3    "));
  program.Send(SIGTERM);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, 143);
  EXPECT_THAT(run.err, Not(HasSubstr("SIGINT")));
}

// As timeout(1) and mpirun send them. They are microseconds apart here, but on
// a busy machine more than 50 ms may pass between any two instructions.
TEST_F(OneInterruptTest, TwoSignalsAtOnceAreOne) {
  bool has_finished = false;
  for (int attempt = 0; attempt < 5 && !has_finished; ++attempt) {
    RunningProgram program({.arguments = Train({})});
    ASSERT_TRUE(program.WaitFor("    1    "));
    for (const int signal : {SIGSTOP, SIGINT, SIGTERM, SIGCONT}) {
      program.Send(signal);
    }
    const ProgramRun run = program.Wait();
    has_finished =
        run.exit_status == 130 && run.out.find("checksum") != std::string::npos;
  }
  EXPECT_TRUE(has_finished);
}

// The Ctrl-C that ends `spillway train | tee log` ends both processes.
TEST_F(OneInterruptTest, FilesAreWrittenThoughTheReaderIsGone) {
  testing::WriteTinyData(folder_.path(), {.training_images = 1600});
  const std::string fifo = Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  // An epoch of 100 steps of a third of a second each, without output.
  RunningProgram program({.arguments = Train({{"--lms", "v1"},
                                              {"--link_gbps", "0.01"},
                                              {"--json", Path("json")},
                                              {"--checkpoint", Path("saved")}}),
                          .stdout_path = fifo});
  std::array<char, 4096> header;
  ssize_t size = 0;
  for (int i = 0; i < 60'000 && size <= 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    size = read(reader, header.data(), header.size());
  }
  close(reader);
  ASSERT_GT(size, 0);
  program.Send(SIGINT);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("interrupted by SIGINT after "),
                             HasSubstr("cannot write standard output: ")));
  EXPECT_EQ(ReadJson("json")["interrupted"], true);
  EXPECT_THAT(folder_.Names(), Contains("saved"));
}

// A failed output takes precedence over the interruption.
TEST_F(OneInterruptTest, AFileThatCannotBeWrittenIsReportedLast) {
  RunningProgram program({.arguments = Bench({{"--json", Path("json")},
                                              {"--trace", Path("trace")}})});
  ASSERT_TRUE(program.WaitFor("1\timages/sec"));
  ASSERT_EQ(mkdir(Path("trace").c_str(), 0700), 0);
  program.Send(SIGINT);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.out, HasSubstr("checksum"));
  const size_t interrupted = run.err.find("interrupted by SIGINT");
  const size_t failed = run.err.find("--trace: cannot write " + Path("trace"));
  ASSERT_NE(interrupted, std::string::npos) << run.err;
  ASSERT_NE(failed, std::string::npos) << run.err;
  EXPECT_LT(interrupted, failed);
  EXPECT_EQ(ReadJson("json")["interrupted"], true);
}

}  // namespace
}  // namespace spillway

// `spillway bench` on tiny batches: its text and its files.
#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/chrome_trace.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/tools/run_program.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FlagValues;
using ::testing::HasSubstr;
using testing::ProfilePath;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using ::testing::SizeIs;
using testing::ToArguments;
using Json = nlohmann::ordered_json;

// The images are so bright that a larger learning rate would make the loss
// infinite.
std::vector<std::string> Arguments(const FlagValues& flags) {
  FlagValues all = flags;
  all.insert({{"--model", "lenet"},
              {"--batch_size", "4"},
              {"--num_batches", "4"},
              {"--num_warmup_batches", "2"},
              {"--display_every", "5"},
              {"--threads", "1"},
              {"--device", "cpu"}});
  if (!flags.contains("--forward_only")) {
    all.insert({"--learning_rate", "1e-6"});
  }
  return ToArguments("bench", all);
}

Json BenchForJson(const FlagValues& flags) {
  return RunForJson(Arguments(flags));
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Lines that end with a speed at this step.
std::vector<std::string> StepLines(const std::string& text) {
  std::vector<std::string> found;
  for (const std::string& line : Lines(text)) {
    if (line.find("\timages/sec: ") != std::string::npos) found.push_back(line);
  }
  return found;
}

bool Matches(const std::string& line, const std::string& pattern) {
  return std::regex_match(line, std::regex(pattern));
}

constexpr const char* kSpeed =
    R"(images/sec: \d+\.\d \+/- \d+\.\d \(jitter = \d+\.\d\)\t\d+\.\d{3})";

TEST(BenchTest, PrintsTheLinesOfTfCnnBenchmarks) {
  const ProgramRun run = RunProgram(Arguments({{"--num_batches", "12"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::vector<std::string> lines = Lines(run.out);
  const auto warm_up = std::ranges::find(lines, "Running warm up");
  ASSERT_GE(lines.end() - warm_up, 15) << run.out;
  const std::string rule(64, '-');
  EXPECT_EQ(warm_up[1], "Done warm up");
  EXPECT_EQ(warm_up[2], "Step\tImg/sec\ttotal_loss");
  EXPECT_TRUE(Matches(warm_up[3], fmt::format("1\\t{}", kSpeed))) << warm_up[3];
  EXPECT_TRUE(Matches(warm_up[4], fmt::format("5\\t{}", kSpeed))) << warm_up[4];
  EXPECT_TRUE(Matches(warm_up[5], fmt::format("10\\t{}", kSpeed)))
      << warm_up[5];
  EXPECT_EQ(warm_up[6], rule);
  EXPECT_TRUE(Matches(warm_up[7], R"(total images/sec: \d+\.\d\d)"))
      << warm_up[7];
  EXPECT_EQ(warm_up[8], rule);
  EXPECT_THAT(warm_up[3], HasSubstr("+/- 0.0 (jitter = 0.0)"));
}

TEST(BenchTest, SaysWhatIsRunBeforeAndWhatItTookAfter) {
  const ProgramRun run =
      RunProgram(Arguments({{"--lms", "v1"}, {"--optimizer", "momentum"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  for (const char* text :
       {"Model:       lenet\n", "Dataset:     imagenet (synthetic)\n",
        "Mode:        training\n", "Batch size:  4 global\n",
        "             4 per device\n", "Num batches: 4\n", "['cpu']",
        "Data format: NHWC\n", "Optimizer:   momentum\n",
        "Variables:   parameter_server\n", "device peak", "host peak",
        "bytes out", "during compute", "checksum"}) {
    EXPECT_THAT(run.out, HasSubstr(text));
  }
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] Editing model for LMS"));
}

TEST(BenchTest, TheResultHasTheFieldsThatScriptsRead) {
  const Json json = BenchForJson({});
  for (const char* field : {"model",
                            "device",
                            "precision",
                            "batch_size",
                            "image_size",
                            "num_batches",
                            "cuda_graph",
                            "images_per_sec",
                            "images_per_sec_uncertainty",
                            "jitter",
                            "total_images_per_sec",
                            "step_ms",
                            "predicted_step_ms",
                            "losses",
                            "peak_device_bytes",
                            "peak_host_bytes",
                            "device_memory",
                            "host_memory",
                            "swap",
                            "lms",
                            "plan_ms",
                            "device_allocations_in_steps",
                            "checksum"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["batch_size"], 4);
  EXPECT_EQ(json["image_size"], 28);
  EXPECT_EQ(json["parameters"], 2172840);
  EXPECT_GT(json["predicted_step_ms"].get<double>(), 0);
  EXPECT_THAT(json["losses"], SizeIs(4));
  for (const Json& loss : json["losses"]) EXPECT_TRUE(loss.is_number());
  EXPECT_EQ(json["device_allocations_in_steps"], 0);
  EXPECT_EQ(json["options"]["weight_decay"], 4e-5);
  EXPECT_EQ(json["cuda_graph"], false);
  EXPECT_TRUE(json["peak_device_bytes"]["driver"].is_null());
}

// Computed from the definitions, with the step times of the result.
struct Speed {
  double mean = 0;
  double uncertainty = 0;
  double jitter = 0;
};

double MiddleOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

Speed SpeedOf(double batch, const std::vector<double>& milliseconds) {
  const auto n = static_cast<double>(milliseconds.size());
  double total_ms = 0;
  double sum = 0;
  double squares = 0;
  std::vector<double> speeds;
  for (const double ms : milliseconds) {
    speeds.push_back(1000 * batch / ms);
    total_ms += ms;
    sum += speeds.back();
    squares += speeds.back() * speeds.back();
  }
  const double variance = squares / n - (sum / n) * (sum / n);
  std::vector<double> deviations;
  for (const double speed : speeds) {
    deviations.push_back(std::abs(speed - MiddleOf(speeds)));
  }
  return {.mean = 1000 * batch * n / total_ms,
          .uncertainty = std::sqrt(std::max(0.0, variance) / n),
          .jitter = 1.4826 * MiddleOf(deviations)};
}

TEST(BenchTest, LinesAndResultFollowFromTheStepTimes) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("bench.json");
  const ProgramRun run =
      RunProgram(Arguments({{"--json", path}, {"--num_batches", "12"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, path));
  const auto times = json["step_ms"]["all"].get<std::vector<double>>();
  ASSERT_THAT(times, SizeIs(12));

  const Speed ten = SpeedOf(4, {times.begin(), times.begin() + 10});
  const std::vector<std::string> lines = StepLines(run.out);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[2],
            fmt::format("10\timages/sec: {:.1f} +/- {:.1f} (jitter = {:.1f})"
                        "\t{:.3f}",
                        ten.mean, ten.uncertainty, ten.jitter,
                        json["losses"][9].get<double>()));

  const Speed all = SpeedOf(4, times);
  const double speed = json["images_per_sec"];
  EXPECT_NEAR(speed / all.mean, 1, 1e-9);
  EXPECT_NEAR(json["images_per_sec_uncertainty"].get<double>(), all.uncertainty,
              1e-6 * all.mean);
  EXPECT_NEAR(json["jitter"].get<double>(), all.jitter, 1e-6 * all.mean);
  EXPECT_NEAR(json["step_ms"]["median"].get<double>(), MiddleOf(times), 1e-9);
  EXPECT_LE(json["total_images_per_sec"].get<double>(), speed * (1 + 1e-9));
  EXPECT_THAT(run.out, HasSubstr(fmt::format(
                           "total images/sec: {:.2f}\n",
                           json["total_images_per_sec"].get<double>())));
}

// For all LMS options and devices.
TEST(BenchTest, LmsAndDeviceLeaveEveryBitAsItIs) {
  const Json plain = BenchForJson({});
  EXPECT_EQ(plain["swap"]["out_bytes"], 0);
  const std::vector<FlagValues> variants = {
      {{"--lms", "v1"}},
      {{"--lms", "v1"}, {"--link_gbps", "0.5"}},
      {{"--lms", "v1"}, {"--device", "inline"}},
      {{"--lms", "v1"}, {"--check_memory", "true"}}};
  for (const FlagValues& variant : variants) {
    SCOPED_TRACE(::testing::PrintToString(variant));
    const Json json = BenchForJson(variant);
    EXPECT_EQ(json["checksum"], plain["checksum"]);
    EXPECT_EQ(json["losses"], plain["losses"]);
    EXPECT_GT(json["swap"]["out_bytes"].get<int64_t>(), 0);
    EXPECT_EQ(json["device_allocations_in_steps"], 0);
    EXPECT_EQ(json.value("check_memory", false),
              variant.contains("--check_memory"));
    for (const char* peak : {"peak_device_bytes", "peak_host_bytes"}) {
      EXPECT_EQ(json[peak]["predicted"], json[peak]["measured"]) << peak;
    }
  }
}

// On a CPU all passes are bitwise exact, and scaling by a power of two is too.
TEST(BenchTest, RecomputationLeavesEveryBitAsItIs) {
  const FlagValues flags = {{"--model", "resnet20"}, {"--num_batches", "2"}};
  const Json off = BenchForJson(flags);
  EXPECT_EQ(off["recompute"]["nodes"], 0);
  for (const char* policy : {"cheap", "sqrt"}) {
    SCOPED_TRACE(policy);
    FlagValues recomputed = flags;
    recomputed.insert({"--lms_recompute", policy});
    const Json json = BenchForJson(recomputed);
    EXPECT_GT(json["recompute"]["nodes"], 0);
    EXPECT_EQ(json["losses"], off["losses"]);
    EXPECT_EQ(json["checksum"], off["checksum"]);
    EXPECT_EQ(json["lms"]["recompute"], policy);
    EXPECT_EQ(json["peak_device_bytes"]["predicted"],
              json["peak_device_bytes"]["measured"]);
    EXPECT_LT(json["peak_device_bytes"]["measured"],
              off["peak_device_bytes"]["measured"]);
  }
}

TEST(BenchTest, PassesAndLossScaleLeaveEveryBitAsItIs) {
  const Json plain = BenchForJson({});
  EXPECT_EQ(plain["options"]["loss_scale"], 1);
  for (const char* flag : {"--loss_scale", "--fp16_loss_scale"}) {
    const Json scaled = BenchForJson({{flag, "1024"}});
    EXPECT_EQ(scaled["options"]["loss_scale"], 1024);
    EXPECT_EQ(scaled["checksum"], plain["checksum"]);
    EXPECT_EQ(scaled["losses"], plain["losses"]);
  }
  for (const char* passes : {"all", "none", "fuse_updates"}) {
    const Json json = BenchForJson({{"--passes", passes}, {"--lms", "v1"}});
    EXPECT_EQ(json["checksum"], plain["checksum"]) << passes;
    EXPECT_EQ(json["losses"], plain["losses"]) << passes;
  }
}

TEST(BenchTest, LanesTellHowMuchCopyingHides) {
  const Json json = BenchForJson({{"--lms", "v1"}, {"--link_gbps", "0.5"}});
  for (const char* lane : {"compute", "copy_out", "copy_in"}) {
    EXPECT_GT(json["lanes"][lane]["busy_ms"].get<double>(), 0) << lane;
  }
  EXPECT_GT(json["copy_ms"].get<double>(), 0);
  EXPECT_LE(json["hidden_copy_ms"].get<double>(),
            json["copy_ms"].get<double>());
}

TEST(BenchTest, AForwardStepHasAccuraciesButNoLossAndNoUpdate) {
  const ProgramRun run = RunProgram(
      Arguments({{"--forward_only", "true"}, {"--num_batches", "12"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(
      run.out,
      HasSubstr("Step\tImg/sec\ttotal_loss\ttop_1_accuracy\ttop_5_accuracy\n"));
  EXPECT_THAT(run.out, HasSubstr("Mode:        forward-only\n"));
  const std::vector<std::string> lines = StepLines(run.out);
  ASSERT_THAT(lines, SizeIs(3));
  for (const std::string& line : lines) {
    EXPECT_TRUE(
        Matches(line, R"(\d+\timages/sec: .*\t0\.000\t\d\.\d{3}\t\d\.\d{3})"))
        << line;
  }
  const Json few =
      BenchForJson({{"--forward_only", "true"}, {"--num_batches", "3"}});
  const Json more = BenchForJson({{"--forward_only", "true"}});
  EXPECT_EQ(few["checksum"], more["checksum"]);
  EXPECT_THAT(more["losses"], Each(few["losses"][0]));
}

TEST(BenchTest, AccuraciesAreShownOnRequest) {
  const ProgramRun run = RunProgram(Arguments(
      {{"--print_training_accuracy", "true"}, {"--num_batches", "1"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::vector<std::string> lines = StepLines(run.out);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_TRUE(Matches(
      lines[0], fmt::format(R"(1\t{}\t\d\.\d{{3}}\t\d\.\d{{3}})", kSpeed)))
      << lines[0];
}

TEST(BenchTest, FreshImagesAreOthersButAlwaysTheSame) {
  const FlagValues fresh = {{"--synthetic", "fresh"}};
  const Json first = BenchForJson(fresh);
  EXPECT_EQ(first["checksum"], BenchForJson(fresh)["checksum"]);
  EXPECT_NE(first["checksum"], BenchForJson({})["checksum"]);
  EXPECT_NE(first["checksum"], BenchForJson({{"--synthetic", "fresh"},
                                             {"--seed", "5"}})["checksum"]);
}

// The variables after the timed steps, not after the traced step that follows.
TEST(BenchTest, TheCheckpointHasTheVariablesOfTheChecksum) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("variables.safetensors");
  const Json json = BenchForJson({{"--checkpoint", path}});
  ASSERT_OK_AND_ASSIGN(const TensorMap variables, ReadSafetensors(path));
  EXPECT_EQ(Checksum(variables), json["checksum"]);
  EXPECT_THAT(
      RunProgram(Arguments({{"--checkpoint", folder.File("no/where")}})),
      Refuses(2, HasSubstr("--checkpoint")));
}

TEST(BenchTest, ABudgetIsKeptOrRefused) {
  const Json free = BenchForJson({{"--lms", "v1"}});
  const int64_t least = free["peak_device_bytes"]["predicted"];
  const std::string exact = std::to_string(least);
  const Json tight =
      BenchForJson({{"--lms", "v1"}, {"--device_memory", exact}});
  EXPECT_EQ(tight["checksum"], free["checksum"]);
  EXPECT_EQ(tight["device_memory"], least);
  EXPECT_THAT(RunProgram(Arguments({{"--device_memory", "1MiB"}})),
              Refuses(3, HasSubstr("missing")));
}

TEST(BenchTest, TheTraceShowsOneMoreStep) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("trace.json");
  BenchForJson({{"--lms", "v1"}, {"--trace", path}});
  ASSERT_OK_AND_ASSIGN(const std::string trace, ReadFile(path));
  for (const char* track : {"compute", "copy out", "copy in", "Conv2D"}) {
    EXPECT_THAT(trace, HasSubstr(track));
  }
}

TEST(BenchTest, WithAProfileThePredictedStepIsShownBesideTheMeasuredOne) {
  const testing::TemporaryFolder folder;
  const std::string trace = folder.File("trace.json");
  const std::string report = folder.File("report.html");
  BenchForJson({{"--lms", "v1"},
                {"--profile", ProfilePath("p100_pcie")},
                {"--trace", trace},
                {"--report", report}});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(trace));
  const testing::ReadTrace read = testing::ReadChromeTrace(text);
  EXPECT_THAT(read.faults, ElementsAre());
  std::map<std::string, std::multiset<std::string>> steps;  // by process
  std::map<std::string, std::multiset<std::string>> arrows;
  for (const testing::TraceSlice& slice : read.slices) {
    if (slice.thread == "stalls") continue;
    steps[read.processes.at(slice.process)].insert(slice.name);
  }
  for (const testing::TraceArrow& arrow : read.arrows) {
    arrows[read.processes.at(arrow.from.process)].insert(arrow.from.name + " " +
                                                         arrow.to.name);
  }
  EXPECT_EQ(steps["predicted"], steps["measured"]);
  EXPECT_FALSE(steps["predicted"].empty());
  EXPECT_EQ(arrows["predicted"], arrows["measured"]);
  EXPECT_FALSE(arrows["predicted"].empty());
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(report));
  EXPECT_THAT(page, HasSubstr("<h1>lenet, batch 4</h1>"));
  EXPECT_THAT(page, HasSubstr("\"measured\":{"));
}

TEST(BenchTest, TheReportNeedsNoProfile) {
  const testing::TemporaryFolder folder;
  const std::string report = folder.File("report.html");
  BenchForJson({{"--report", report}});
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(report));
  EXPECT_THAT(page, HasSubstr("<h1>lenet, batch 4</h1>"));
}

// Reads the data of the page, as tests/simulator/report_test.cc does.
Json ReportDataOf(const std::string& path) {
  const std::string page = ReadFile(path).value_or("");
  const std::string begin = R"(id="data">)";
  const size_t from = page.find(begin) + begin.size();
  return ParseJson(page.substr(from, page.find("</script>", from) - from), path)
      .value_or(Json());
}

TEST(BenchTest, TheReportOfATunedStepHasTheBoundTheChoiceAndWhatWasTried) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("report.html");
  const Json free = BenchForJson({{"--model", "resnet20"}, {"--report", path}});
  Json data = ReportDataOf(path);
  EXPECT_GT(data["bound"][0], 0);
  EXPECT_TRUE(data["tried"].empty());
  EXPECT_TRUE(data["chosen"].is_null());
  const int64_t peak = free["peak_device_bytes"]["predicted"];
  const Json json =
      BenchForJson({{"--model", "resnet20"},
                    {"--lms", "auto"},
                    {"--profile", ProfilePath("p100_pcie")},
                    {"--device_memory", std::to_string(peak * 3 / 4)},
                    {"--report", path}});
  data = ReportDataOf(path);
  EXPECT_GT(data["bound"][0], 0);
  EXPECT_LE(data["bound"][0].get<int64_t>(), data["step_ns"].get<int64_t>());
  EXPECT_GT(data["tried"].size(), 1U);
  const Json& chosen = data["tried"][data["chosen"].get<size_t>()];
  EXPECT_EQ(chosen[0], json["recipe"]);
  EXPECT_EQ(chosen[1], 1);
  EXPECT_EQ(data["facts"].back()[0], "Measured on");
  const bool is_named =
      std::ranges::any_of(data["facts"], [&](const Json& fact) {
        return fact[0] == "Chosen" && fact[1].get<std::string>().starts_with(
                                          json["recipe"].get<std::string>());
      });
  EXPECT_TRUE(is_named);
}

}  // namespace
}  // namespace spillway

// `spillway profile`, and predictions from its measurements. No test judges a
// measured time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "ops/cpu/lanes.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tuned_step.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using Json = nlohmann::ordered_json;

// The cache is in the test's own folder.
class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() { setenv("XDG_CACHE_HOME", Path("cache").c_str(), 1); }

  static std::vector<std::string> Arguments(
      const std::string& command, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {command, "--threads", "1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  }

  // Measures as little of the machine as possible.
  static std::vector<std::string> Profile(
      const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = Arguments("profile", flags);
    arguments.insert(arguments.end(), {"--num_batches", "1"});
    return arguments;
  }

  // A few steps of a tiny network.
  static std::vector<std::string> TinyProfile(
      const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags = {"--model", "lenet", "--batch_size",
                                      "2",       "--out", out};
    flags.insert(flags.end(), more.begin(), more.end());
    return Profile(flags);
  }

  // Writes the profile of the CPU and a tiny network to `path`. It is measured
  // once, for all tests.
  static void WriteMeasuredProfile(const std::string& path) {
    static const std::string measured = MeasureTinyProfile();
    ASSERT_THAT(WriteFileAtomically(path, measured), IsOk());
  }

  // The first entry is the whole step, the others its parts.
  static void ExpectSharesOfAStep(const Json& ops) {
    ASSERT_GT(ops.size(), 1U);
    EXPECT_EQ(ops[0]["op"], "all");
    EXPECT_EQ(ops[0]["of_time"], 1);
    int64_t nodes = 0;
    double of_time = 0;
    for (size_t i = 1; i < ops.size(); ++i) {
      nodes += ops[i]["nodes"].get<int64_t>();
      of_time += ops[i]["of_time"].get<double>();
      EXPECT_LE(ops[i]["ms"], ops[i - 1]["ms"]);
    }
    EXPECT_EQ(ops[0]["nodes"], nodes);
    EXPECT_NEAR(of_time, 1, 1e-9);
  }

  static Json Simulate(const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--model", "lenet", "--batch_size", "2"};
    flags.insert(flags.end(), more.begin(), more.end());
    return RunForJson(Arguments("simulate", flags));
  }

  static Json ReadJson(const std::string& path) {
    const auto text = ReadFile(path);
    EXPECT_THAT(text, IsOk());
    const auto json = ParseJson(text.value_or(""), path);
    EXPECT_THAT(json, IsOk());
    return json.ok() ? *json : Json();
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }

 private:
  static std::string MeasureTinyProfile() {
    const testing::TemporaryFolder folder;
    const std::string out = folder.File("profile.json");
    EXPECT_EQ(RunProgram(TinyProfile(out, {"--device", "cpu"})).exit_status, 0);
    const auto text = ReadFile(out);
    EXPECT_THAT(text, IsOk());
    return text.value_or("");
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ProfileTest, MeasuresLinkHostRatesAndKernels) {
  const std::string out = Path("profile.json");
  const Json result = RunForJson(TinyProfile(out, {"--device", "cpu"}));
  EXPECT_EQ(result["out"], out);
  EXPECT_GT(result["step_ms"].get<double>(), 0);
  ExpectSharesOfAStep(result["ops"]);
  const Json profile = ReadJson(out);
  EXPECT_EQ(profile["name"], "cpu, 1 thread");
  EXPECT_EQ(profile["kernels"].size(), result["kernels"].get<size_t>());
  EXPECT_EQ(profile["kernels"].size(),
            result["measured_kernels"].get<size_t>());
  bool has_convolution = false;
  for (const auto& [signature, ns] : profile["kernels"].items()) {
    EXPECT_GT(ns.get<int64_t>(), 0) << signature;
    has_convolution = has_convolution || signature.starts_with("Conv2D{");
  }
  EXPECT_TRUE(has_convolution);
  EXPECT_GE(profile["to_host"]["by_size"].size(), 5U);
  EXPECT_GE(profile["to_device"]["by_size"].size(), 5U);
  EXPECT_FALSE(profile.contains("in_turn"));
}

// Recomputation runs them; a step without it does not.
TEST_F(ProfileTest, MeasuresTheKernelsOfRecomputation) {
  const std::string out = Path("profile.json");
  ASSERT_EQ(RunProgram(Profile({"--model", "resnet20", "--batch_size", "2",
                                "--device", "cpu", "--out", out}))
                .exit_status,
            0);
  const Json profile = ReadJson(out);
  int64_t derived = 0;
  for (const auto& [signature, ns] : profile["kernels"].items()) {
    if (!signature.starts_with("BatchNormApply{")) continue;
    ++derived;
    EXPECT_GT(ns.get<int64_t>(), 0) << signature;
  }
  EXPECT_GT(derived, 0);
}

TEST_F(ProfileTest, TheInlineDeviceRunsItsLanesInTurn) {
  const std::string out = Path("profile.json");
  EXPECT_EQ(RunProgram(TinyProfile(out, {"--device", "inline"})).exit_status,
            0);
  EXPECT_EQ(ReadJson(out)["in_turn"], true);
  // The steps run in turn, so the times of the lanes add up to at most the
  // step.
  const Json json = Simulate({"--profile", out, "--lms", "v1"});
  double busy_ms = 0;
  for (const auto& [name, lane] : json["lanes"].items()) {
    busy_ms += lane["busy_ms"].get<double>();
  }
  EXPECT_GT(json["lanes"]["copy_out"]["busy_ms"].get<double>(), 0);
  EXPECT_LE(busy_ms, json["step_ms"].get<double>() + 1e-6);
}

// Doubling the kernels in the file doubles compute in the prediction.
TEST_F(ProfileTest, SimulateGoesByTheKernelsOfTheFile) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  const auto compute_ms = [&] {
    return Simulate({"--profile", out})["lanes"]["compute"]["busy_ms"]
        .get<double>();
  };
  const double measured_ms = compute_ms();
  Json profile = ReadJson(out);
  std::map<std::string, int64_t> least_ns;
  for (auto& [signature, ns] : profile["kernels"].items()) {
    ns = 2 * ns.get<int64_t>();
    least_ns[signature] = ns.get<int64_t>();
  }
  for (auto& [signature, algorithms] : profile["algorithms"].items()) {
    for (auto& [name, measured] : algorithms.items()) {
      const int64_t ns = 2 * measured["ns"].get<int64_t>();
      measured["ns"] = ns;
      least_ns[signature] = std::min(least_ns[signature], ns);
    }
  }
  double sum_ms = 0;
  for (const auto& [signature, ns] : least_ns) {
    sum_ms += static_cast<double>(ns) * 1e-6;
  }
  ASSERT_THAT(WriteFileAtomically(out, FormatJson(profile)), IsOk());
  EXPECT_NEAR(compute_ms(), 2 * measured_ms, 0.02 * measured_ms);
  EXPECT_GE(compute_ms(), sum_ms * 0.99);  // some kinds run several times
}

// Each algorithm of a convolution and of its gradients is measured; then the
// fastest one according to the file is chosen. (Only filter gradients have
// patches.)
TEST_F(ProfileTest, AlgorithmsAreMeasuredAndChosenByTheFile) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  Json profile = ReadJson(out);
  EXPECT_THAT(profile["libraries"].get<std::string>(), HasSubstr("oneDNN 2."));
  if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  for (const std::string fastest : {"direct", "winograd_2x2", "patches"}) {
    int64_t kernels = 0;
    for (auto& [signature, algorithms] : profile["algorithms"].items()) {
      ASSERT_TRUE(algorithms.contains("direct") &&
                  algorithms.contains("winograd_2x2"));
      EXPECT_EQ(algorithms.contains("patches"),
                signature.starts_with("Conv2DBackpropFilter"));
      for (auto& [name, measured] : algorithms.items()) {
        EXPECT_GT(measured["ns"].get<int64_t>(), 0);
        EXPECT_GE(measured["workspace_bytes"].get<int64_t>(), 0);
        measured["ns"] = name == fastest ? 1'000 : 2'000;
      }
      kernels += algorithms.contains(fastest);
    }
    EXPECT_GT(kernels, 0);
    ASSERT_THAT(WriteFileAtomically(out, FormatJson(profile)), IsOk());
    const Json chosen = Simulate({"--profile", out})["algorithms"];
    EXPECT_EQ(chosen[fastest].get<int64_t>(), kernels);
    const Json ran = RunForJson(
        Arguments("bench", {"--model", "lenet", "--batch_size", "2", "--device",
                            "cpu", "--num_batches", "2", "--profile", out}));
    EXPECT_EQ(ran["algorithms"], chosen);
    EXPECT_EQ(ran["peak_device_bytes"]["predicted"],
              ran["peak_device_bytes"]["measured"]);
  }
  EXPECT_TRUE(
      Simulate({"--profile", out, "--algorithms", "first"})["algorithms"]
          .empty());
}

// For all swaps and links, the step keeps the algorithms of the step without a
// budget, so results are bitwise identical.
TEST_F(ProfileTest, AStepKeepsItsAlgorithmsAndItsBits) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  Json profile = ReadJson(out);
  for (auto& [signature, algorithms] : profile["algorithms"].items()) {
    for (auto& [name, measured] : algorithms.items()) {
      measured["ns"] = name == "direct" ? 2'000 : 1'000;
    }
  }
  ASSERT_THAT(WriteFileAtomically(out, FormatJson(profile)), IsOk());
  const auto bench = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--model", "lenet", "--batch_size", "2", "--device", "cpu",
                  "--num_batches", "2", "--profile", out});
    return RunForJson(Arguments("bench", flags));
  };
  const Json free = bench({});
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{
           {"--lms", "v1"},
           {"--lms", "v1", "--link_gbps", "1"},
           {"--lms", "v1", "--lms_recompute", "sqrt"}}) {
    const Json swapped = bench(flags);
    EXPECT_GT(swapped["swap"]["tensors"], 0);
    EXPECT_EQ(swapped["algorithms_digest"], free["algorithms_digest"]);
    EXPECT_EQ(swapped["checksum"], free["checksum"]);
  }
}

TEST_F(ProfileTest, FirstAlgorithmsAloneAreMeasuredOnRequest) {
  const std::string out = Path("profile.json");
  const auto flags =
      TinyProfile(out, {"--device", "cpu", "--algorithms", "first"});
  ASSERT_EQ(RunProgram(flags).exit_status, 0);
  EXPECT_FALSE(ReadJson(out).contains("algorithms"));
  EXPECT_FALSE(ReadJson(out)["kernels"].empty());
}

// The plan has the algorithms that tune chose, and they run.
TEST_F(ProfileTest, AlgorithmsAreAPartOfThePlan) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  const std::string plan = Path("plan.json");
  const std::vector<std::string> step = {"--model", "lenet",    "--batch_size",
                                         "2",       "--device", "cpu"};
  std::vector<std::string> flags = step;
  flags.insert(flags.end(), {"--profile", out, "--out", plan});
  const Json tuned = RunForJson(Arguments("tune", flags));
  flags = step;
  flags.insert(flags.end(), {"--plan", plan, "--num_batches", "2"});
  const Json ran = RunForJson(Arguments("bench", flags));
  EXPECT_EQ(ran["algorithms"], tuned["chosen"]["algorithms"]);
  EXPECT_EQ(ran["peak_device_bytes"]["measured"],
            tuned["chosen"]["predicted"]["peak_device_bytes"]);

  Json changed = ReadJson(plan);
  ASSERT_FALSE(changed["algorithms"].empty());
  changed["algorithms"].begin().value() = "winograd";
  ASSERT_THAT(WriteFileAtomically(plan, FormatJson(changed)), IsOk());
  EXPECT_THAT(
      RunProgram(Arguments("bench", flags)),
      Refuses(2, AllOf(HasSubstr("\"winograd\""), HasSubstr("Conv2D"))));
}

// The algorithms of another machine are planned only from its profile, whether
// or not the CPU has a choice for a node. A step that runs takes none of them.
TEST_F(ProfileTest, AProfileOfAGpuPlansItsAlgorithms) {
  constexpr int64_t kWorkspace = 64 << 20;
  const std::string cpu = Path("cpu.json");
  WriteMeasuredProfile(cpu);
  Json gpu = ReadJson(testing::ProfilePath("h200_pcie5"));
  int64_t convolutions = 0;
  const Json measured = ReadJson(cpu);
  for (const auto& [signature, ns] : measured["kernels"].items()) {
    if (!signature.starts_with("Conv2D")) continue;
    gpu["algorithms"][signature] = {
        {"implicit_gemm", {{"workspace_bytes", 0}, {"ns", 15'000}}},
        {"implicit_precomp_gemm",
         {{"workspace_bytes", kWorkspace}, {"ns", 10'000}}}};
    ++convolutions;
  }
  gpu["libraries"] = "cuDNN 9.13.1, cuBLASLt 13.0.2";
  const std::string path = Path("gpu.json");
  ASSERT_THAT(WriteFileAtomically(path, FormatJson(gpu)), IsOk());
  const auto arguments = [&](int64_t budget, const std::string& algorithms) {
    return Arguments(
        "tune", {"--model", "lenet", "--batch_size", "2", "--device", "cpu",
                 "--profile", path, "--device_memory", std::to_string(budget),
                 "--algorithms", algorithms});
  };
  const auto tune = [&](int64_t budget) {
    return RunForJson(arguments(budget, "auto"))["chosen"];
  };
  const Json ample = tune(int64_t{1} << 30);
  EXPECT_EQ(ample["algorithms"]["implicit_precomp_gemm"], convolutions);
  const auto peak = ample["predicted"]["peak_device_bytes"].get<int64_t>();
  const Json tight = tune(peak - kWorkspace / 2);
  EXPECT_GT(tight["algorithms"]["implicit_gemm"], 0);
  EXPECT_THAT(RunProgram(arguments(peak - kWorkspace / 2, "same")),
              Refuses(3, HasSubstr("--algorithms auto may choose smaller")));
  EXPECT_LT(tight["predicted"]["peak_device_bytes"].get<int64_t>(), peak);
  EXPECT_GT(tight["predicted"]["step_ms"].get<double>(),
            ample["predicted"]["step_ms"].get<double>());
  const Json simulated = Simulate({"--device", "cpu", "--profile", path});
  EXPECT_EQ(simulated["algorithms"]["implicit_precomp_gemm"], convolutions);
  const Json ran = RunForJson(
      Arguments("bench", {"--model", "lenet", "--batch_size", "2", "--device",
                          "cpu", "--num_batches", "2", "--profile", path}));
  EXPECT_TRUE(ran["algorithms"].empty());
}

TEST_F(ProfileTest, MeasurementsOfOtherLibrariesAreNotUsed) {
  ASSERT_EQ(RunProgram(Profile({"--device", "cpu"})).exit_status, 0);
  EXPECT_EQ(Simulate({"--device", "cpu"})["profile"], "cpu, 1 thread");
  const std::string path = Path("cache/spillway/cpu_1_thread.json");
  Json profile = ReadJson(path);
  profile["libraries"] = "oneDNN 1.0.0";
  ASSERT_THAT(WriteFileAtomically(path, FormatJson(profile)), IsOk());
  EXPECT_THAT(Simulate({"--device", "cpu"})["profile"].get<std::string>(),
              HasSubstr("not measured"));
}

// The commands look at the profile more than once.
TEST_F(ProfileTest, AProfileThatMayBeWrongIsReportedOnce) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  Json profile = ReadJson(out);
  profile["foreign_work"] = 0.25;
  ASSERT_THAT(WriteFileAtomically(out, FormatJson(profile)), IsOk());
  const std::vector<std::vector<std::string>> commands = {
      {"bench", "--num_batches", "1", "--lms", "auto"},
      {"simulate", "--lms", "auto"},
      {"simulate", "--device_memory", "50%", "--find_max_batch"},
      {"tune", "--device_memory", "50%"},
      {"tune", "--strategy", "lru"}};
  for (std::vector<std::string> arguments : commands) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    arguments.insert(arguments.end(), {"--model", "lenet", "--batch_size", "2",
                                       "--threads", "1", "--profile", out});
    const ProgramRun run = RunProgram(arguments);
    const std::string warning = "while other programs took 25 %";
    const size_t first = run.err.find(warning);
    ASSERT_NE(first, std::string::npos) << run.err;
    EXPECT_EQ(run.err.find(warning, first + 1), std::string::npos) << run.err;
  }
}

TEST_F(ProfileTest, AFileKeepsWhatIsNotMeasuredAgain) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  const Json first = ReadJson(out)["kernels"];
  ASSERT_EQ(RunProgram(TinyProfile(out, {"--device", "cpu", "--forward_only"}))
                .exit_status,
            0);
  const Json merged = ReadJson(out)["kernels"];
  for (const auto& [signature, ns] : first.items()) {
    EXPECT_TRUE(merged.contains(signature)) << signature;
  }
  // Without a graph, the kernels remain, to the last digit.
  ASSERT_EQ(RunProgram(Profile({"--device", "cpu", "--out", out})).exit_status,
            0);
  EXPECT_EQ(ReadJson(out)["kernels"], merged);
}

TEST_F(ProfileTest, ProfilesAreFoundInTheCacheByDeviceThreadsAndLink) {
  EXPECT_THAT(Simulate({})["profile"].get<std::string>(),
              HasSubstr("not measured"));
  for (const char* link : {"0", "2.5"}) {
    ASSERT_EQ(RunProgram(Profile({"--device", "cpu", "--link_gbps", link}))
                  .exit_status,
              0);
  }
  for (const char* name :
       {"cpu_1_thread.json", "cpu_1_thread_link_2.5_gbps.json"}) {
    EXPECT_TRUE(std::filesystem::exists(Path("cache/spillway/") + name))
        << name;
  }
  EXPECT_EQ(Simulate({})["profile"], "cpu, 1 thread");
  EXPECT_EQ(Simulate({"--link_gbps", "2.5"})["profile"],
            "cpu, 1 thread, link 2.5 gbps");
  EXPECT_EQ(Simulate({"--link_gbps", "1"})["profile"], "cpu, 1 thread");
  EXPECT_THAT(Simulate({"--device", "inline"})["profile"].get<std::string>(),
              HasSubstr("not measured"));
}

// A profile that was found in the cache does not set the budget.
TEST_F(ProfileTest, OnlyANamedProfileIsABudget) {
  EXPECT_TRUE(Simulate({})["device_memory"].is_null());
  const std::string out = Path("profile.json");
  ASSERT_EQ(RunProgram(Profile({"--device", "cpu", "--out", out})).exit_status,
            0);
  EXPECT_EQ(Simulate({"--profile", out})["device_memory"],
            ReadJson(out)["memory_bytes"]);
}

TEST_F(ProfileTest, ASlowLinkIsSlowInThePrediction) {
  const auto copy_ms = [&](const char* link) {
    const Json json = Simulate({"--lms", "v1", "--link_gbps", link});
    EXPECT_GT(json["swap"]["out_bytes"].get<int64_t>(), 0);
    return json["lanes"]["copy_out"]["busy_ms"].get<double>() /
           json["swap"]["out_bytes"].get<double>();
  };
  EXPECT_GE(copy_ms("0.001"), 1e-3);  // a millisecond per thousand bytes
  EXPECT_GT(copy_ms("0.001"), 100 * copy_ms("1"));
}

TEST_F(ProfileTest, AGraphFileIsMeasuredWithoutSayingWhatItsFeedsAre) {
  const std::string graph = Path("graph.json");
  ASSERT_EQ(RunProgram({"inspect", "--model", "lenet", "--batch_size", "2",
                        "--out", graph})
                .exit_status,
            0);
  const Json result = RunForJson(
      Profile({"--graph", graph, "--device", "cpu", "--out", Path("p.json")}));
  EXPECT_GT(result["kernels"].get<int64_t>(), 10);
}

TEST_F(ProfileTest, BenchComparesThePredictionWithTheMeasuredStep) {
  const std::string out = Path("profile.json");
  WriteMeasuredProfile(out);
  const std::vector<std::string> arguments =
      Arguments("bench", {"--model", "lenet", "--batch_size", "2",
                          "--num_batches", "2", "--device", "cpu", "--profile",
                          out, "--json", Path("bench.json")});
  const ProgramRun run = RunProgram(arguments);
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("ms predicted on cpu, 1 thread"),
                             HasSubstr(" measured: ")));
  const Json json = ReadJson(Path("bench.json"));
  EXPECT_EQ(json["profile"], "cpu, 1 thread");
  // All commands predict the same time for the same plan.
  EXPECT_GT(json["predicted_step_ms"].get<double>(), 0);
}

TEST_F(ProfileTest, BadFilesAndFlagsAreRefused) {
  const std::string bad = Path("bad.json");
  ASSERT_THAT(WriteFileAtomically(bad, "{\"format\": 1}"), IsOk());
  const auto profile = [](const std::vector<std::string>& flags) {
    return RunProgram(Arguments("profile", flags));
  };
  EXPECT_THAT(profile({"--out", bad}),
              Refuses(2, AllOf(HasSubstr("--out"), HasSubstr("\"format\""))));
  EXPECT_THAT(profile({"--out", Path("none/x.json")}),
              Refuses(2, HasSubstr("--out: cannot write")));
  EXPECT_THAT(profile({"--device", "cuda"}), Refuses(2, HasSubstr("CUDA")));
  EXPECT_THAT(profile({"--num_batches", "0"}),
              Refuses(2, HasSubstr("--num_batches")));
  EXPECT_THAT(profile({"--model", "lenot", "--out", Path("x.json")}),
              Refuses(2, HasSubstr("lenot")));
  EXPECT_THAT(RunProgram({"bench", "--model", "lenet", "--profile", bad}),
              Refuses(2, AllOf(HasSubstr("--profile"), HasSubstr("bad.json"))));
  ASSERT_EQ(
      RunProgram(Profile({"--device", "inline", "--out", Path("inline.json")}))
          .exit_status,
      0);
  EXPECT_THAT(profile({"--device", "cpu", "--out", Path("inline.json")}),
              Refuses(2, AllOf(HasSubstr("\"inline, 1 thread\""),
                               HasSubstr("\"cpu, 1 thread\""))));
}

TEST_F(ProfileTest, ABadCachedProfileIsNamed) {
  std::filesystem::create_directories(Path("cache/spillway"));
  ASSERT_THAT(
      WriteFileAtomically(Path("cache/spillway/cpu_1_thread.json"), "{}"),
      IsOk());
  EXPECT_THAT(RunProgram(Arguments("simulate",
                                   {"--model", "lenet", "--device", "cpu"})),
              Refuses(2, HasSubstr("cpu_1_thread.json")));
}

}  // namespace
}  // namespace spillway

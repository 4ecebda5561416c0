// `simulate --profile`: predicted times of a step on another machine.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::ProfilePath;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using Json = nlohmann::ordered_json;

class ProfileTimeTest : public ::testing::Test {
 protected:
  static Json Simulate(const std::string& profile,
                       std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(),
                 {"simulate", "--model", "resnet20", "--device", "cpu",
                  "--threads", "1", "--profile", ProfilePath(profile)});
    return RunForJson(flags);
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(ProfileTimeTest, LanesAndStallsAddUpToTheStep) {
  for (const std::string lms : {"off", "v1"}) {
    const Json json = Simulate("p100_pcie", {"--lms", lms});
    const double step_ms = json["step_ms"].get<double>();
    EXPECT_GT(step_ms, 0);
    EXPECT_NEAR(json["images_per_sec"].get<double>(), 128e3 / step_ms, 1e-6);
    for (const auto& [name, lane] : json["lanes"].items()) {
      EXPECT_NEAR(lane["busy_ms"].get<double>() + lane["idle_ms"].get<double>(),
                  step_ms, 1e-9)
          << name;
    }
    double compute_ms = json["lanes"]["compute"]["busy_ms"].get<double>();
    for (const auto& [name, stall] : json["stall_ms"].items()) {
      compute_ms += stall.get<double>();
    }
    EXPECT_LE(compute_ms, step_ms + 1e-9);
    const bool swaps = json["lanes"]["copy_out"]["busy_ms"].get<double>() > 0;
    EXPECT_EQ(swaps, lms == "v1");
  }
}

TEST_F(ProfileTimeTest, AFasterMachineIsFasterAndSwappingIsNot) {
  const auto step_ms = [](const Json& json) {
    return json["step_ms"].get<double>();
  };
  const double slow = step_ms(Simulate("p100_pcie"));
  EXPECT_LT(step_ms(Simulate("h200_pcie5")), slow);
  EXPECT_GE(step_ms(Simulate("p100_pcie", {"--lms", "v1"})), slow);
}

TEST_F(ProfileTimeTest, TheProfilesMemoryIsTheBudget) {
  EXPECT_EQ(Simulate("p100_pcie")["device_memory"].get<int64_t>(),
            int64_t{16} << 30);
  EXPECT_EQ(Simulate("p100_pcie", {"--device_memory", "1GiB"})["device_memory"]
                .get<int64_t>(),
            int64_t{1} << 30);
}

TEST_F(ProfileTimeTest, TheTraceHasEverySpan) {
  const std::string path = Path("trace.json");
  const Json json = Simulate("p100_pcie", {"--lms", "v1", "--trace", path});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json trace, ParseJson(text, path));
  EXPECT_THAT(text, HasSubstr("predicted"));
  EXPECT_THAT(text, HasSubstr("lms/swapin_"));
}

TEST_F(ProfileTimeTest, TheTraceShowsMemoryUpToThePeak) {
  const std::string path = Path("trace.json");
  const Json json = Simulate("p100_pcie", {"--lms", "v1", "--trace", path});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json trace, ParseJson(text, path));
  std::map<std::string, int64_t> most;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    int64_t& bytes = most[event["name"].get<std::string>()];
    bytes = std::max(bytes, event["args"]["value"].get<int64_t>());
  }
  EXPECT_GT(most["device bytes"], 0);
  EXPECT_LE(most["device bytes"], json["peak_device_bytes"].get<int64_t>());
  EXPECT_GT(most["host bytes"], 0);
  EXPECT_LE(most["host bytes"], json["peak_host_bytes"].get<int64_t>());
}

TEST_F(ProfileTimeTest, TheReportShowsTheStepAndItsOptions) {
  const std::string path = Path("report.html");
  Simulate("p100_pcie", {"--lms", "v1", "--lms_n_tensors", "7",
                         "--device_memory", "1GiB", "--report", path});
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(path));
  for (const char* text : {"<h1>resnet20, batch 128</h1>", "lms/swapin_",
                           "v1, n_tensors 7", "P100 16 GB", "1073741824"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  // Works without a profile too.
  const std::string other = Path("other.html");
  EXPECT_EQ(RunProgram({"simulate", "--model", "lenet", "--report", other})
                .exit_status,
            0);
  ASSERT_OK_AND_ASSIGN(const std::string other_page, ReadFile(other));
  EXPECT_THAT(other_page, HasSubstr("<h1>lenet, batch 32</h1>"));
}

TEST_F(ProfileTimeTest, BadProfilesAreRefused) {
  EXPECT_THAT(
      RunProgram({"simulate", "--model", "lenet", "--profile", Path("none")}),
      Refuses(2, HasSubstr("--profile: ")));
  ASSERT_TRUE(WriteFileAtomically(Path("bad"), "{\"format\": 1}").ok());
  EXPECT_THAT(
      RunProgram({"simulate", "--model", "lenet", "--profile", Path("bad")}),
      Refuses(2, HasSubstr("field \"format\" must be text")));
}

}  // namespace
}  // namespace spillway

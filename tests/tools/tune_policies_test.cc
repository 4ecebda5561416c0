// `spillway tune --strategy NAME` and `--compare`: the classic policies.
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tuned_step.h"
#include "tuner/policies/policies.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::PeakOfResNet;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using testing::TuneResNet;
using Json = nlohmann::ordered_json;

class TunePoliciesTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File(name); }

  static FlagValues WithHalf() {
    static const int64_t kHalf = PeakOfResNet() / 2;
    return {{"--device_memory", std::to_string(kHalf)}};
  }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(TunePoliciesTest, ComparesAllByName) {
  FlagValues flags = WithHalf();
  flags["--compare"] = "true";
  const Json json = RunForJson(TuneResNet(flags));
  const int64_t budget = json["device_memory"].get<int64_t>();
  std::vector<std::string> names;
  std::vector<std::string> fitting;
  for (const Json& policy : json["policies"]) {
    names.push_back(policy["name"]);
    SCOPED_TRACE(names.back());
    EXPECT_EQ(policy["tried"], true);
    EXPECT_EQ(policy["step_ms"].is_null(), policy.contains("reason"));
    if (policy["step_ms"].is_null()) continue;
    fitting.push_back(names.back());
    EXPECT_LE(policy["peak_device_bytes"].get<int64_t>(), budget);
    EXPECT_GE(policy["step_ms"].get<double>(),
              policy["bound_ms"].get<double>());
  }
  EXPECT_EQ(names, PolicyNames());
  EXPECT_THAT(fitting, IsSupersetOf({"swap_all", "swap_per_tensor", "dtr",
                                     "lru", "unified_64k"}));
  EXPECT_TRUE(json["policies"][0]["step_ms"].is_null());   // keep_all
  EXPECT_TRUE(json["policies"][0]["bound_ms"].is_null());  // nothing fits
}

TEST_F(TunePoliciesTest, TheTableSaysWhyAPolicyDoesNotFit) {
  FlagValues flags = WithHalf();
  flags["--compare"] = "true";
  EXPECT_THAT(RunProgram(TuneResNet(flags)).out,
              ContainsRegex("\nno .*keep_all: [^\n]*bytes"));
}

TEST_F(TunePoliciesTest, ThePlanOfAPolicyRuns) {
  FlagValues flags = WithHalf();
  flags["--strategy"] = "dtr";
  flags["--out"] = Path("dtr.plan.json");
  const Json json = RunForJson(TuneResNet(flags));
  EXPECT_EQ(json["strategy"], "dtr");
  EXPECT_EQ(json["chosen"]["name"], "dtr");
  EXPECT_GT(json["chosen"]["predicted"]["recompute"]["nodes"].get<int64_t>(),
            0);
  EXPECT_EQ(json["chosen"]["predicted"]["swap"]["swap_outs"], 0);
  const Json bench = testing::BenchResNet({{"--plan", flags["--out"]}});
  EXPECT_LE(bench["peak_device_bytes"]["measured"].get<int64_t>(),
            json["device_memory"].get<int64_t>());
}

TEST_F(TunePoliciesTest, ARunTimePolicyHasATimeAndNoPlan) {
  FlagValues flags = WithHalf();
  flags["--strategy"] = "belady";
  const Json json = RunForJson(TuneResNet(flags));
  EXPECT_TRUE(json["chosen"].is_null());
  ASSERT_EQ(json["policies"].size(), 1);
  EXPECT_EQ(json["policies"][0]["name"], "belady");
  EXPECT_EQ(json["policies"][0]["realised"], false);
  EXPECT_GT(json["policies"][0]["moved_bytes"].get<int64_t>(), 0);
  const ProgramRun run = RunProgram(TuneResNet(flags));
  EXPECT_THAT(run.out, AllOf(HasSubstr("images/s"),
                             HasSubstr("belady (no plan: played)")));
  flags["--out"] = Path("belady.plan.json");
  EXPECT_THAT(RunProgram(TuneResNet(flags)),
              Refuses(2, HasSubstr("belady makes no plan")));
}

TEST_F(TunePoliciesTest, APolicyThatDoesNotFitIsRefused) {
  FlagValues flags = WithHalf();
  flags["--strategy"] = "keep_all";
  EXPECT_THAT(RunProgram(TuneResNet(flags)),
              Refuses(3, HasSubstr("the policy keep_all does not fit")));
  flags["--find_max_batch"] = "true";
  EXPECT_THAT(RunProgram(TuneResNet(flags)),
              Refuses(2, HasSubstr("--find_max_batch: needs --strategy")));
}

}  // namespace
}  // namespace spillway

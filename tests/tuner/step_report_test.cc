// The report of a tuned step with its frontier and the prices of its tensors.
#include "tuner/step_report.h"

#include <set>
#include <string>
#include <vector>

#include "simulator/tensor_fates.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using ::testing::IsEmpty;
using testing::ZooCase;

class StepReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const StepOptions options = {
        .device = "cpu",
        .threads = 1,
        .device_memory = ModelOf(case_).peak_bytes / 4 * 3,
        .profile = "p100_pcie"};
    ASSERT_OK_AND_ASSIGN(tuned_, Tune({.graph = case_.graph}, options));
  }

  const testing::TunerCase case_ = ZooCase("cifar10_full", 32, 16, 10);
  TuneResult tuned_;
};

TEST_F(StepReportTest, WithoutExtrasItHasNone) {
  const HtmlReport report = ReportOf(tuned_, {.batch_size = 32});
  EXPECT_THAT(report.frontier, IsEmpty());
  EXPECT_THAT(report.changes, IsEmpty());
  EXPECT_THAT(report.policies, IsEmpty());
}

TEST_F(StepReportTest, PointsOfTheFrontierKeepTheirOrder) {
  const Frontier frontier = {.points = {{.device_memory = 200,
                                         .step_ns = 10,
                                         .bound_ns = 9,
                                         .device_bytes = 190,
                                         .name = "no swaps"},
                                        {.device_memory = 100,
                                         .step_ns = 12,
                                         .bound_ns = 11,
                                         .device_bytes = 99,
                                         .name = "fates"}},
                             .interrupted = true};
  const HtmlReport report = ReportOf(tuned_, {}, {.frontier = &frontier});
  ASSERT_EQ(report.frontier.size(), 2U);
  EXPECT_TRUE(report.frontier_interrupted);
  EXPECT_EQ(report.frontier[1].budget_bytes, 100);
  EXPECT_EQ(report.frontier[1].step_ns, 12);
  EXPECT_EQ(report.frontier[1].bound_ns, 11);
  EXPECT_EQ(report.frontier[1].device_bytes, 99);
  EXPECT_EQ(report.frontier[1].name, "fates");
}

TEST_F(StepReportTest, PoliciesThatDoNotFitAreNoPoints) {
  const std::vector<PolicyResult> policies = {
      {.name = "vdnn_all", .reason = "too large"},
      {.name = "lru", .fits = true, .step_ns = 30, .device_bytes = 95}};
  const HtmlReport report = ReportOf(tuned_, {}, {.policies = policies});
  ASSERT_EQ(report.policies.size(), 1U);
  EXPECT_EQ(report.policies[0].name, "lru");
  EXPECT_EQ(report.policies[0].device_bytes, 95);
  EXPECT_EQ(report.policies[0].step_ns, 30);
}

TEST_F(StepReportTest, EachPriceBelongsToARowOfTheTable) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<TensorPrice> prices,
      PriceTensors({.graph = case_.graph}, tuned_, {.plays = 5}));
  ASSERT_FALSE(prices.empty());
  const HtmlReport report = ReportOf(tuned_, {}, {.prices = prices});
  ASSERT_EQ(report.changes.size(), prices.size());
  std::set<BufferId> rows;
  for (const TensorFate& fate : FindTensorFates(*report.plan, *report.predicted,
                                                0, report.original_of)) {
    rows.insert(fate.buffer);
  }
  for (size_t i = 0; i < prices.size(); ++i) {
    const FateChanges& changes = report.changes[i];
    ASSERT_OK_AND_ASSIGN(const ValueId value,
                         report.graph->FindValue(changes.tensor));
    EXPECT_TRUE(rows.contains(report.plan->buffer_of[value])) << changes.tensor;
    EXPECT_EQ(changes.if_kept_ns, prices[i].change_ns[0]);
    EXPECT_EQ(changes.if_swapped_ns, prices[i].change_ns[1]);
    EXPECT_EQ(changes.if_recomputed_ns, prices[i].change_ns[2]);
  }
}

}  // namespace
}  // namespace spillway

// The frontier and the prices of a small ResNet, as a C++ program asks for
// them.
#include "tuner/what_if/frontier.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/tune.h"
#include "tuner/what_if/price_tensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;
using testing::TunerCase;
using testing::ZooCase;

StepOptions OnP100() {
  return {.device = "cpu",
          .threads = 1,
          .algorithms = AlgorithmChoice::kFirst,
          .profile = "p100_pcie"};
}

Program SmallResNet() {
  TunerCase made = ZooCase("resnet20", 32, 32, 1);
  return {.graph = std::move(made.graph), .fetches = made.options.fetches};
}

// Takes seconds, so it is found once.
const absl::StatusOr<Frontier>& SmallFrontier() {
  static const absl::StatusOr<Frontier> frontier =
      TuneFrontier(SmallResNet(), OnP100());
  return frontier;
}

TEST(FrontierTest, LessMemoryIsNeverFasterAndEachPlanFits) {
  ASSERT_OK_AND_ASSIGN(const Frontier frontier, SmallFrontier());
  ASSERT_GT(frontier.points.size(), 8U);
  EXPECT_FALSE(frontier.interrupted);
  const FrontierPoint& first = frontier.points.front();
  EXPECT_EQ(first.device_memory, first.device_bytes);
  for (size_t i = 0; i < frontier.points.size(); ++i) {
    SCOPED_TRACE(i);
    const FrontierPoint& point = frontier.points[i];
    EXPECT_LE(point.device_bytes, point.device_memory);
    EXPECT_GE(point.step_ns, point.bound_ns);
    if (i == 0) continue;
    EXPECT_LT(point.device_memory, frontier.points[i - 1].device_memory);
    EXPECT_GE(point.step_ns, frontier.points[i - 1].step_ns);
  }
  // Far less than half of the memory is enough.
  EXPECT_LT(frontier.points.back().device_memory, first.device_memory / 2);
  const std::string csv = FormatFrontierCsv(frontier);
  EXPECT_THAT(csv, StartsWith("device_memory_bytes,part_of_peak,"));
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(csv, '\n')),
            frontier.points.size() + 1);
}

// Each budget after the first begins from what was found for the one above.
TEST(FrontierTest, IsCloseToWhatTheTunerFindsForEachBudgetAlone) {
  const Program program = SmallResNet();
  ASSERT_OK_AND_ASSIGN(const Frontier frontier, SmallFrontier());
  const size_t last = frontier.points.size() - 1;
  // Narrow budgets are the ones in which a search stays where it begins.
  for (const size_t i : {size_t{4}, last - 4, last - 2, last - 1, last}) {
    StepOptions options = OnP100();
    options.device_memory = frontier.points[i].device_memory;
    ASSERT_OK_AND_ASSIGN(const TuneResult alone, Tune(program, options));
    EXPECT_LE(static_cast<double>(frontier.points[i].step_ns),
              1.06 * static_cast<double>(alone.step.chosen.step.step_ns))
        << "at " << *options.device_memory << " bytes";
  }
}

TEST(FrontierTest, AStopRequestEndsItWithWhatWasFound) {
  int calls = 0;
  StepOptions options = OnP100();
  options.stop = [&] { return ++calls > 10; };
  ASSERT_OK_AND_ASSIGN(const Frontier frontier,
                       TuneFrontier(SmallResNet(), options));
  EXPECT_TRUE(frontier.interrupted);
  EXPECT_GE(frontier.points.size(), 1U);
}

TEST(PriceTensorsTest, ExplainsTheLargestTensorsAndThoseThatAreNamed) {
  const Program program = SmallResNet();
  StepOptions options = OnP100();
  ASSERT_OK_AND_ASSIGN(const TuneResult free, Tune(program, options));
  // Nothing has to leave the device.
  ASSERT_OK_AND_ASSIGN(std::vector<TensorPrice> prices,
                       PriceTensors(program, free, {}));
  EXPECT_TRUE(prices.empty());

  options.device_memory = free.step.chosen.plan.device_bytes / 2;
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program, options));
  ASSERT_OK_AND_ASSIGN(prices, PriceTensors(program, tuned, {.most = 5}));
  ASSERT_EQ(prices.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(prices, std::ranges::greater(),
                                     &TensorPrice::bytes));
  int away = 0;
  for (const TensorPrice& price : prices) {
    SCOPED_TRACE(price.tensor);
    ASSERT_FALSE(price.gaps.empty());
    EXPECT_EQ(price.change_ns[static_cast<size_t>(price.fate)], 0);
    away += price.fate == Fate::kKept ? 0 : 1;
    for (const TensorGap& gap : price.gaps) {
      EXPECT_GE(gap.free_bytes, 0);
      EXPECT_LE(gap.busy_in, 1.0001);
      EXPECT_LE(gap.busy_out, 1.0001);
      EXPECT_FALSE(gap.from.empty() || gap.to.empty() || gap.fullest.empty());
    }
  }
  EXPECT_GT(away, 0);

  ASSERT_OK_AND_ASSIGN(
      const std::vector<TensorPrice> one,
      PriceTensors(program, tuned, {.tensors = {prices[2].tensor}}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].change_ns, prices[2].change_ns);
  std::string wrong = prices[0].tensor;
  wrong[0] = 'X';
  EXPECT_THAT(PriceTensors(program, tuned, {.tensors = {wrong}}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(wrong), HasSubstr(prices[0].tensor))));
}

}  // namespace
}  // namespace spillway

// The executor alone, with and without checks: a hand-made plan and test
// kernels (toy_plan.h).
#include "executor/executor.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/executor/toy_plan.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AddOne;
using testing::DoubleThroughScratch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kBytes;
using testing::StatusIs;
using testing::Sum;
using testing::ToyPlanCase;

using ExecutorTest = testing::ToyPlanTest;

TEST_P(ExecutorTest, RunsThePlanAgainAndAgain) {
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const int64_t allocations = device_->allocations();
  for (int step = 0; step < 50; ++step) {
    const auto scale = static_cast<float>(step);
    const std::vector<float> x = Input(scale);
    ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
    ASSERT_EQ(ReadSum(), Expected(scale));
  }
  EXPECT_EQ(device_->allocations(), allocations);
}

TEST_P(ExecutorTest, CountsCopiesOverAllSteps) {
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  for (int step = 0; step < 3; ++step) {
    ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
  }
  EXPECT_EQ(executor->copies().swap_outs, 3);
  EXPECT_EQ(executor->copies().swap_ins, 3);
  EXPECT_EQ(executor->copies().out_bytes, 3 * kBytes);
  EXPECT_EQ(executor->copies().in_bytes, 3 * kBytes);
}

TEST_P(ExecutorTest, TheHighWaterMarkIsWhatThePlanSays) {
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  EXPECT_EQ(MeasuredBytes(Space::kDevice), 0);
  const std::vector<float> x = Input(1);
  ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
  EXPECT_EQ(MeasuredBytes(Space::kDevice), plan_.device_bytes);
  EXPECT_EQ(MeasuredBytes(Space::kHost), plan_.host_bytes);
}

TEST_P(ExecutorTest, KernelsSeeSeedAndStep) {
  uint64_t seed = 0;
  int64_t step = 0;
  SetKernel("sum", [&](const KernelContext& context) {
    seed = context.seed;
    step = *context.step;
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  RunOptions options = Feed(x);
  options.seed = 42;
  options.step = 7;
  ASSERT_THAT(executor->RunStep(options), IsOk());
  EXPECT_EQ(seed, 42u);
  EXPECT_EQ(step, 7);
}

TEST_P(ExecutorTest, AFailingKernelIsNamedAndTheNextStepRuns) {
  bool fail = true;
  int sums = 0;
  SetKernel("w", [&](const KernelContext& context) {
    return fail ? absl::InternalError("planted") : AddOne(context);
  });
  SetKernel("sum", [&](const KernelContext& context) {
    ++sums;
    return Sum(context);
  });
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  EXPECT_THAT(executor->RunStep(Feed(x)),
              StatusIs(absl::StatusCode::kInternal, "w: planted"));
  EXPECT_EQ(sums, 0);  // else it read bytes that w did not write

  fail = false;
  ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
  EXPECT_EQ(sums, 1);
  EXPECT_EQ(ReadSum(), Expected(1));
}

TEST_P(ExecutorTest, AMissingFeedIsNamedBeforeAnythingRuns) {
  bool ran = false;
  SetKernel("y", [&](const KernelContext&) {
    ran = true;
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  EXPECT_THAT(executor->RunStep({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("x is not fed: float32[1000]")));
  EXPECT_FALSE(ran);
}

TEST_P(ExecutorTest, AStepWithoutAKernelIsRefusedByCreate) {
  kernels_[*graph_.FindNode("w")] = nullptr;
  EXPECT_THAT(NewExecutor(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("w: no kernel was prepared for op AddOne")));
}

TEST_P(ExecutorTest, AliasesDoNothingAndStillOrderOtherLanes) {
  // w becomes an alias of x, and the copy back waits for it too.
  Step& alias = plan_.steps[StepId(3)];
  alias.kind = StepKind::kAlias;
  plan_.steps[StepId(4)].waits.push_back(StepId(3));
  kernels_[alias.node] = nullptr;
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(2);
  Timeline timeline;
  RunOptions options = Feed(x);
  options.timeline = &timeline;
  ASSERT_THAT(executor->RunStep(options), IsOk());
  EXPECT_EQ(timeline.spans.size(), 5u);
  std::vector<float> expected = x;
  for (float& value : expected) value *= 3;
  EXPECT_EQ(ReadSum(), expected);
}

const Span& SpanOf(const Timeline& timeline, const std::string& name) {
  for (const Span& span : timeline.spans) {
    if (span.name == name) return span;
  }
  ADD_FAILURE() << "no span " << name;
  return timeline.spans.front();
}

TEST_P(ExecutorTest, TheTimelineHasEveryStepOnItsTrack) {
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  Timeline timeline;
  RunOptions options = Feed(x);
  options.timeline = &timeline;
  for (int step = 0; step < 2; ++step) {  // replaced, not appended to
    ASSERT_THAT(executor->RunStep(options), IsOk());
    EXPECT_THAT(timeline.tracks, ElementsAre("compute", "copy out", "copy in"));
    ASSERT_EQ(timeline.spans.size(), 6u);
  }
  int64_t first_ns = timeline.spans.front().begin_ns;
  for (const Span& span : timeline.spans) {
    EXPECT_LE(span.begin_ns, span.end_ns);
    first_ns = std::min(first_ns, span.begin_ns);
  }
  EXPECT_EQ(first_ns, 0);
  const Span& out = SpanOf(timeline, "y_host");
  EXPECT_EQ(out.track, 1);
  EXPECT_EQ(out.category, "SwapOut");
  EXPECT_EQ(out.bytes, kBytes);
  EXPECT_EQ(SpanOf(timeline, "x").track, 2);
  EXPECT_EQ(SpanOf(timeline, "x").bytes, kBytes);
  EXPECT_EQ(SpanOf(timeline, "sum").track, 0);
  EXPECT_EQ(SpanOf(timeline, "sum").bytes, 0);
}

TEST_P(ExecutorTest, TheTimelineShowsThatWaitsWereKept) {
  SetKernel("y", [&](const KernelContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return DoubleThroughScratch(context);
  });
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  Timeline timeline;
  RunOptions options = Feed(x);
  options.timeline = &timeline;
  ASSERT_THAT(executor->RunStep(options), IsOk());
  const std::vector<std::pair<std::string, std::string>> ordered = {
      {"x", "y"},         {"y", "y_host"}, {"y", "w"},
      {"y_host", "back"}, {"w", "sum"},    {"back", "sum"}};
  for (const auto& [before, after] : ordered) {
    EXPECT_LE(SpanOf(timeline, before).end_ns, SpanOf(timeline, after).begin_ns)
        << before << " and " << after;
  }
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, ExecutorTest,
    ::testing::Values(ToyPlanCase{.device = "inline"},
                      ToyPlanCase{.device = "cpu"},
                      ToyPlanCase{.device = "inline", .check_memory = true},
                      ToyPlanCase{.device = "cpu", .check_memory = true}));

}  // namespace
}  // namespace spillway

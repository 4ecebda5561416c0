// The executor alone: a plan made by hand, kernels made for the test.
//
//   step         0      1       2        3        4        5
//   copy in      x(feed)                          back
//   compute             y = 2x           w = x+1           sum = w + back
//   copy out                    y->host
//   device  0    [== x ===============][=== w ================]  (in place)
//        4 KiB          [= y ========]           [= back ======]  shares y
//        8 KiB                                             [= sum]
//       12 KiB          [scratch]
#include "executor/executor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/device/registry.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kElements = 1000;
constexpr int64_t kBytes = kElements * 4;
const TensorType kType = {DType::kFloat32, Shape({kElements})};

using RunFunction = std::function<absl::Status(const KernelContext&)>;

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(RunFunction run) : run_(std::move(run)) {}
  absl::Status Run(const KernelContext& context) override {
    return run_(context);
  }

 private:
  const RunFunction run_;
};

absl::Status DoubleThroughScratch(const KernelContext& context) {
  auto* scratch = static_cast<float*>(context.workspace);
  for (int64_t i = 0; i < kElements; ++i) {
    scratch[i] = 2 * context.input<float>(0)[i];
  }
  std::copy(scratch, scratch + kElements, context.output<float>(0));
  return absl::OkStatus();
}

absl::Status AddOne(const KernelContext& context) {
  for (int64_t i = 0; i < kElements; ++i) {
    context.output<float>(0)[i] = context.input<float>(0)[i] + 1;
  }
  return absl::OkStatus();
}

absl::Status Sum(const KernelContext& context) {
  for (int64_t i = 0; i < kElements; ++i) {
    context.output<float>(0)[i] =
        context.input<float>(0)[i] + context.input<float>(1)[i];
  }
  return absl::OkStatus();
}

// The parameter is the device's name.
class ExecutorTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    MakeGraph();
    MakePlan();
    kernels_.reserve(graph_.num_nodes());
    for (size_t i = 0; i < graph_.num_nodes(); ++i) kernels_.push_back(nullptr);
    SetKernel("y", DoubleThroughScratch);
    SetKernel("w", AddOne);
    SetKernel("sum", Sum);
    // A slow link: a lane that does not wait for a copy reads old bytes.
    device_ =
        NewDevice(GetParam(), {.threads = 1, .link_gigabytes_per_second = 0.02})
            .value();
    // More than the plan needs, to tell what is used from what there is.
    device_arena_ =
        Arena::Create(*device_, MemorySpace::kDevice, 32_KiB).value();
    host_arena_ = Arena::Create(*device_, MemorySpace::kHost, 8_KiB).value();
  }

  NodeId AddNode(const std::string& name, const std::string& op,
                 std::vector<ValueId> inputs) {
    return graph_.AddNode({.name = name,
                           .op = op,
                           .inputs = std::move(inputs),
                           .outputs = {kType}});
  }
  ValueId ValueOf(const std::string& name) const {
    return graph_.output(*graph_.FindNode(name));
  }

  void MakeGraph() {
    AddNode("x", "Placeholder", {});
    AddNode("y", "Double", {ValueOf("x")});
    AddNode("y_host", "SwapOut", {ValueOf("y")});
    AddNode("w", "AddOne", {ValueOf("x")});
    AddNode("back", "SwapIn", {ValueOf("y_host")});
    AddNode("sum", "Sum", {ValueOf("w"), ValueOf("back")});
  }

  BufferId AddBuffer(const std::string& name, Space space, int64_t offset) {
    return plan_.buffers.push_back(
        {.name = name, .space = space, .offset = offset, .bytes = kBytes});
  }

  void AddStep(const std::string& node, StepKind kind, Lane lane,
               std::vector<BufferId> inputs, BufferId output,
               std::vector<StepId> waits) {
    plan_.steps.push_back({.node = *graph_.FindNode(node),
                           .kind = kind,
                           .lane = lane,
                           .inputs = std::move(inputs),
                           .outputs = {output},
                           .workspace = {},
                           .waits = std::move(waits)});
  }

  void MakePlan() {
    const BufferId x = AddBuffer("x and w", Space::kDevice, 0);
    const BufferId y = AddBuffer("y", Space::kDevice, 4_KiB);
    const BufferId host = AddBuffer("y_host", Space::kHost, 0);
    const BufferId back = AddBuffer("back", Space::kDevice, 4_KiB);
    const BufferId sum = AddBuffer("sum", Space::kDevice, 8_KiB);
    const BufferId scratch = AddBuffer("scratch", Space::kDevice, 12_KiB);
    AddStep("x", StepKind::kFeed, Lane::kCopyIn, {}, x, {});
    AddStep("y", StepKind::kCompute, Lane::kCompute, {x}, y, {StepId(0)});
    plan_.steps[StepId(1)].workspace = scratch;
    AddStep("y_host", StepKind::kSwapOut, Lane::kCopyOut, {y}, host,
            {StepId(1)});
    AddStep("w", StepKind::kCompute, Lane::kCompute, {x}, x, {});
    AddStep("back", StepKind::kSwapIn, Lane::kCopyIn, {host}, back,
            {StepId(2)});
    AddStep("sum", StepKind::kCompute, Lane::kCompute, {x, back}, sum,
            {StepId(4)});
    plan_.device_bytes = 12_KiB + kBytes;
    plan_.host_bytes = kBytes;
  }

  void SetKernel(const std::string& node, RunFunction run) {
    kernels_[*graph_.FindNode(node)] =
        std::make_unique<FakeKernel>(std::move(run));
  }

  absl::StatusOr<std::unique_ptr<Executor>> NewExecutor() {
    return Executor::Create({.graph = &graph_,
                             .plan = &plan_,
                             .kernels = &kernels_,
                             .device = device_.get(),
                             .device_arena = &device_arena_,
                             .host_arena = &host_arena_});
  }

  RunOptions Feed(const std::vector<float>& x) const {
    return {.feeds = {{ValueOf("x"), x.data()}}};
  }

  std::vector<float> ReadSum() {
    std::vector<float> sum(kElements);
    const auto stream = device_->NewStream({}).value();
    EXPECT_THAT(stream->CopyToHost(sum.data(), device_arena_.Use(8_KiB, kBytes),
                                   kBytes),
                IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    return sum;
  }

  // x = 0, 1, 2, ... times `scale`; the sum is x + 1 + 2x.
  static std::vector<float> Input(float scale) {
    std::vector<float> x(kElements);
    for (int64_t i = 0; i < kElements; ++i) {
      x[static_cast<size_t>(i)] = scale * static_cast<float>(i);
    }
    return x;
  }
  static std::vector<float> Expected(float scale) {
    std::vector<float> sum = Input(scale);
    for (float& value : sum) value = 3 * value + 1;
    return sum;
  }

  Graph graph_;
  ExecutionPlan plan_;
  KernelMap kernels_;
  std::unique_ptr<Device> device_;
  Arena device_arena_;
  Arena host_arena_;
};

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
  EXPECT_EQ(device_arena_.high_water_bytes(), 0);
  const std::vector<float> x = Input(1);
  ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
  EXPECT_EQ(device_arena_.high_water_bytes(), plan_.device_bytes);
  EXPECT_EQ(host_arena_.high_water_bytes(), plan_.host_bytes);
}

TEST_P(ExecutorTest, KernelsSeeSeedAndStep) {
  uint64_t seed = 0;
  int64_t step = 0;
  SetKernel("sum", [&](const KernelContext& context) {
    seed = context.seed;
    step = context.step;
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
  EXPECT_EQ(sums, 0);  // It would have read what w did not write.

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
  for (int step = 0; step < 2; ++step) {  // Filled anew, not added to.
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

INSTANTIATE_TEST_SUITE_P(CpuBackends, ExecutorTest,
                         ::testing::Values("inline", "cpu"));

}  // namespace
}  // namespace spillway

#include "tuner/bound/lower_bound.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "simulator/simulator.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/search/whole_tensors.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::CaseOf;
using testing::ChainGraph;
using testing::LinkOf;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::RandomCase;
using testing::SmallRandomCase;
using testing::ToyOps;
using testing::TunerCase;

constexpr int64_t kUnit = 1024;  // bytes of each value of the chain

// f1 f2 f3 f4 b4 b3 b2 b1, which need 1 2 3 4 5 5 4 3 units. A byte per
// nanosecond, times `faster_to_host` or `faster_to_device`.
TunerCase Chain(int64_t kernel_ns, double faster_to_host = 1,
                double faster_to_device = 1) {
  DeviceProfile profile = LinkOf(1);
  profile.to_host = LinkOf(faster_to_host).to_host;
  profile.to_device = LinkOf(faster_to_device).to_device;
  return CaseOf(ChainGraph(4, kUnit, false), ToyOps(), kernel_ns, profile);
}

StepTimeBound BoundOf(const TunerCase& tuner_case, int64_t budget_bytes) {
  return LowerBound(ModelOf(tuner_case), tuner_case.profile, budget_bytes);
}

TEST(LowerBoundTest, LongKernelsHideTheCopies) {
  const StepTimeBound bound = BoundOf(Chain(2000), 4 * kUnit);
  EXPECT_EQ(bound.step_ns, 16000);
  EXPECT_EQ(bound.kernels_ns, 16000);
  EXPECT_EQ(bound.out_ns, 0);
  EXPECT_EQ(bound.in_ns, 0);
  EXPECT_EQ(bound.most_bytes_away, kUnit);
  EXPECT_EQ(BoundReason(bound), "compute");
}

TEST(LowerBoundTest, AUnitTooManyLeavesBeforeThePeakAndReturnsAfterIt) {
  // f1 ends at 10 and has left at 1034: b4, b3; back at 2078: b1.
  const StepTimeBound bound = BoundOf(Chain(10), 4 * kUnit);
  EXPECT_EQ(bound.step_ns, 10 + 1024 + 20 + 1024 + 10);
  EXPECT_EQ(bound.kernels_ns, 80);
  EXPECT_EQ(bound.out_ns, 1024);
  EXPECT_EQ(bound.in_ns, 1024);
}

TEST(LowerBoundTest, ASlowWayOutIsNamed) {
  const StepTimeBound bound = BoundOf(Chain(10, 1, 1024), 4 * kUnit);
  EXPECT_EQ(bound.step_ns, 10 + 1024 + 40);
  EXPECT_EQ(bound.out_ns, 1024);
  EXPECT_EQ(bound.in_ns, 0);
  EXPECT_EQ(BoundReason(bound), "copies to the host");
}

TEST(LowerBoundTest, ASlowWayBackIsNamed) {
  const StepTimeBound bound = BoundOf(Chain(10, 1024, 1), 4 * kUnit);
  EXPECT_EQ(bound.step_ns, 60 + 1024 + 10);
  EXPECT_EQ(bound.out_ns, 0);
  EXPECT_EQ(bound.in_ns, 1024);
  EXPECT_EQ(BoundReason(bound), "copies to the device");
}

TEST(LowerBoundTest, TwoUnitsReturnOneByOne) {
  // f1 and f2 have left at 10 + 2048: b4, b3; f2 is back 1024 later: b2; f1
  // needs a unit of room, which b2 frees.
  const StepTimeBound bound = BoundOf(Chain(10), 3 * kUnit);
  EXPECT_EQ(bound.step_ns, 10 + 2048 + 20 + 1024 + 10 + 1024 + 10);
  EXPECT_EQ(bound.out_ns, 2048);
  EXPECT_EQ(bound.in_ns, 2048);
  EXPECT_EQ(bound.most_bytes_away, 2 * kUnit);
}

TEST(LowerBoundTest, ABudgetThatIsNoMultipleOfTheAlignmentHoldsAPlanUpToIt) {
  // The topmost buffer may end inside its last 256 bytes.
  const TunerCase chain = Chain(10);
  EXPECT_EQ(BoundOf(chain, 5 * kUnit - 255).step_ns, 80);
  EXPECT_GT(BoundOf(chain, 5 * kUnit - 256).step_ns, 80);
}

TEST(LowerBoundTest, TheReaderOfAFedTensorWaitsForItsCopy) {
  Graph graph("fed");
  const TensorType type{.dtype = DType::kUInt8, .shape = {kUnit}};
  const NodeId x =
      graph.AddNode({.name = "x", .op = "Placeholder", .outputs = {type}});
  const NodeId a = graph.AddNode({.name = "a", .op = "F", .outputs = {type}});
  graph.AddNode({.name = "b",
                 .op = "F",
                 .inputs = {graph.output(a), graph.output(x)},
                 .outputs = {type}});
  const TunerCase fed = CaseOf(std::move(graph), ToyOps(), 100, LinkOf(1));
  const StepTimeBound bound = BoundOf(fed, 3 * kUnit);
  EXPECT_EQ(bound.step_ns, 1024 + 100);
  EXPECT_EQ(bound.in_ns, 1024);
}

// Like a step on a GPU with its images: the copy of the feed ends long before
// the last kernel, and nothing is swapped.
TEST(LowerBoundTest, AFeedBeforeLongKernelsLeavesTheStepBoundByCompute) {
  Graph graph("fed");
  const TensorType type{.dtype = DType::kUInt8, .shape = {kUnit}};
  ValueId last = graph.output(
      graph.AddNode({.name = "x", .op = "Placeholder", .outputs = {type}}));
  for (const char* name : {"a", "b", "c", "d"}) {
    last = graph.output(graph.AddNode(
        {.name = name, .op = "F", .inputs = {last}, .outputs = {type}}));
  }
  const auto reason = [&](int64_t kernel_ns) {
    const TunerCase fed = CaseOf(graph, ToyOps(), kernel_ns, LinkOf(1));
    const StepTimeBound bound = BoundOf(fed, 5 * kUnit);
    EXPECT_EQ(bound.step_ns, kUnit + 4 * kernel_ns);
    EXPECT_EQ(bound.in_ns, kUnit);
    return BoundReason(bound);
  };
  EXPECT_EQ(reason(5 * kUnit), "compute");               // idle: 1 of 21
  EXPECT_EQ(reason(4 * kUnit), "copies to the device");  // 1 of 17
}

// w x a b: b reads w and x; x is fed. The budget is two units.
StepModel FedStep() {
  StepModel model;
  model.steps = {{.node = NodeId(0), .ns = 1000, .live_bytes = kUnit},
                 {.node = NodeId(1),
                  .kind = StepKind::kFeed,
                  .ns = 1024,
                  .live_bytes = 2 * kUnit,
                  .first_kernel = 3},
                 {.node = NodeId(2), .ns = 10, .live_bytes = 3 * kUnit},
                 {.node = NodeId(3), .ns = 10, .live_bytes = 2 * kUnit}};
  model.copies = {
      {.value = ValueId(0), .bytes = kUnit},
      {.value = ValueId(1), .written = 1, .bytes = kUnit, .is_feed = true}};
  for (const int32_t i : {0, 1}) {
    model.gaps.push_back({.copy_out = i,
                          .last = i,
                          .next = 3,
                          .kernel = 3,
                          .aligned_bytes = kUnit});
  }
  model.peak_bytes = 3 * kUnit;
  model.kernels_ns = 1020;
  return model;
}

TEST(LowerBoundTest, AFedTensorNeedNotLeaveToComeLateOrAgain) {
  // One unit is off the device at a: that of x, which the caller has, or that
  // of w. So a starts at 1000, without waiting for a copy to the host.
  EXPECT_EQ(LowerBound(FedStep(), LinkOf(1), 2 * kUnit).step_ns,
            1000 + 10 + 1024 + 10);
}

TEST(LowerBoundTest, NoStepStartsBeforeItsHostIssuedIt) {
  TunerCase chain = Chain(10);
  chain.profile.issue_ns = 500;
  const StepTimeBound bound = BoundOf(chain, 5 * kUnit);
  EXPECT_EQ(bound.step_ns, 8 * 500 + 10);
  EXPECT_EQ(bound.issue_ns, 8 * 500);
  EXPECT_EQ(BoundReason(bound), "the host's calls");
}

// The header's inequalities for all pairs of steps; keeps no reason.
class NaiveBound {
 public:
  NaiveBound(const StepModel& model, const DeviceProfile& profile,
             int64_t budget_bytes)
      : model_(model),
        profile_(profile),
        budget_bytes_(AlignUp(budget_bytes, kBufferAlignment)) {}

  int64_t StepNs() {
    int64_t now = 0;
    const auto steps = static_cast<int32_t>(model_.steps.size());
    std::vector<int64_t> end(model_.steps.size(), 0);
    int64_t issued_ns = 0;
    for (int32_t k = 0; k < steps; ++k) {
      const ModelStep& step = model_.steps[static_cast<size_t>(k)];
      const bool is_kernel = step.kind == StepKind::kCompute;
      if (is_kernel) {
        issued_ns += profile_.issue_ns;
        now = std::max(now, issued_ns);
        now = std::max(now, LeftNs(k, end));
      }
      for (int32_t i = 0; i < k; ++i) {
        now = std::max(now, ReturnedNs(i, k, end));
        const ModelStep& other = model_.steps[static_cast<size_t>(i)];
        if (other.first_kernel == k) now = std::max(now, other.ns);
      }
      if (is_kernel) now += step.ns;
      end[static_cast<size_t>(k)] = now;
    }
    return now;
  }

 private:
  const CopyOut& CopyOf(const Gap& gap) const {
    return model_.copies[static_cast<size_t>(gap.copy_out)];
  }

  int64_t BytesAway(int32_t k) const {
    const ModelStep& step = model_.steps[static_cast<size_t>(k)];
    int64_t away = step.live_bytes - step.in_place_bytes - budget_bytes_;
    for (const Gap& gap : model_.gaps) {
      if (Spans(gap, k)) away -= gap.aligned_bytes - CopyOf(gap).bytes;
    }
    return away;
  }

  // The gaps that contain k, sorted by key.
  template <typename Key>
  std::vector<Gap> GapsAround(int32_t k, const Key& key) const {
    std::vector<Gap> gaps;
    for (const Gap& gap : model_.gaps) {
      if (Spans(gap, k)) gaps.push_back(gap);
    }
    std::ranges::stable_sort(gaps, {}, key);
    return gaps;
  }

  std::vector<int64_t> Sizes(const std::vector<Gap>& gaps) const {
    std::vector<int64_t> sizes;
    for (const Gap& gap : gaps) sizes.push_back(CopyOf(gap).bytes);
    return sizes;
  }

  static int64_t CopyNs(int64_t bytes, double bytes_per_second) {
    return static_cast<int64_t>(static_cast<double>(bytes) /
                                (bytes_per_second * 1e-9));
  }

  // The time at which enough bytes have left for k to start.
  int64_t LeftNs(int32_t k, const std::vector<int64_t>& end) const {
    if (BytesAway(k) <= 0) return 0;
    const auto written = [&](const Gap& gap) {
      const int32_t step = CopyOf(gap).written;
      const bool is_fed =
          model_.steps[static_cast<size_t>(step)].kind == StepKind::kFeed;
      return is_fed ? -1 : step;
    };
    const std::vector<Gap> gaps = GapsAround(k, written);
    const std::vector<int64_t> least = LeastFromRest(Sizes(gaps), BytesAway(k));
    int64_t latest = 0;
    for (size_t m = 0; m < least.size(); ++m) {
      const int32_t step = written(gaps[m]);
      if (step == -1) continue;
      const int64_t after = end[static_cast<size_t>(step)];
      latest = std::max(
          latest, after + CopyNs(least[m], profile_.to_host.bytes_per_second));
    }
    return latest;
  }

  // The bytes that were off the device at i have returned when k starts, except
  // those that are read after k.
  int64_t ReturnedNs(int32_t i, int32_t k,
                     const std::vector<int64_t>& end) const {
    const ModelStep& step = model_.steps[static_cast<size_t>(i)];
    if (step.kind != StepKind::kCompute || BytesAway(i) <= 0) return 0;
    const std::vector<Gap> gaps =
        GapsAround(i, [](const Gap& gap) { return -gap.kernel; });
    const std::vector<int64_t> least = LeastFromRest(Sizes(gaps), BytesAway(i));
    int64_t latest = 0;
    for (size_t m = 0; m < least.size(); ++m) {
      if (gaps[m].kernel != k) continue;
      latest = std::max(
          latest, end[static_cast<size_t>(i)] +
                      CopyNs(least[m], profile_.to_device.bytes_per_second));
    }
    return latest;
  }

  const StepModel& model_;
  const DeviceProfile& profile_;
  const int64_t budget_bytes_;
};

int64_t MostBytesAway(const StepModel& model, int64_t budget_bytes) {
  int64_t most = 0;
  for (const ModelStep& step : model.steps) {
    if (step.kind != StepKind::kCompute) continue;
    most = std::max(most, step.live_bytes - step.in_place_bytes -
                              AlignUp(budget_bytes, kBufferAlignment));
  }
  return most;
}

void ExpectAsTheNaiveTwinSays(const TunerCase& tuner_case) {
  const StepModel model = ModelOf(tuner_case);
  constexpr int kBudgets = 6;
  const int64_t least = NaiveLeastBytes(model);
  int64_t larger_budget_ns = 0;
  for (int i = kBudgets - 1; i >= 0; --i) {
    const int64_t budget = BudgetBetween(least, model.peak_bytes, i, kBudgets);
    SCOPED_TRACE(::testing::Message() << "budget " << budget);
    const StepTimeBound bound = LowerBound(model, tuner_case.profile, budget);
    EXPECT_EQ(bound.step_ns,
              NaiveBound(model, tuner_case.profile, budget).StepNs());
    EXPECT_GE(bound.step_ns, larger_budget_ns);
    EXPECT_EQ(bound.most_bytes_away, MostBytesAway(model, budget));
    larger_budget_ns = bound.step_ns;
  }
}

TEST(LowerBoundTest, RandomStepsAreAsANaiveTwinSaysAndNeverFallWithTheBudget) {
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ExpectAsTheNaiveTwinSays(SmallRandomCase(seed, 8));
    ExpectAsTheNaiveTwinSays(SmallRandomCase(seed, 20));
    ExpectAsTheNaiveTwinSays(RandomCase(seed, 24));
  }
}

TEST(LowerBoundTest, WhereEverythingFitsItIsTheKernelsAndTheWaitsForFeeds) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    TunerCase tuner_case = SmallRandomCase(seed, 12);
    tuner_case.profile.issue_ns = 0;
    const StepModel model = ModelOf(tuner_case);
    int64_t expected = 0;
    for (size_t k = 0; k < model.steps.size(); ++k) {
      for (const ModelStep& feed : model.steps) {
        if (feed.first_kernel == static_cast<int32_t>(k)) {
          expected = std::max(expected, feed.ns);
        }
      }
      if (model.steps[k].kind == StepKind::kCompute) {
        expected += model.steps[k].ns;
      }
    }
    for (const int64_t budget : {model.peak_bytes, 2 * model.peak_bytes}) {
      const StepTimeBound bound = LowerBound(model, tuner_case.profile, budget);
      EXPECT_EQ(bound.step_ns, expected);
      EXPECT_EQ(bound.most_bytes_away, 0);
    }
  }
}

// Four gradients of 1000 elements, each added over the ranks once it exists;
// fed in no time.
TunerCase Reduced(int64_t kernel_ns, int64_t collective_ns) {
  GraphBuilder g(StandardOps());
  const Tensor weight = g.Placeholder("weight", DType::kFloat32, {});
  Tensor x = g.Placeholder("x", DType::kFloat32, {1000});
  for (int i = 0; i < 4; ++i) {
    const NameScope scope = g.Scope(fmt::format("layer_{}", i));
    x = Relu(scope, x);
    g.Add(scope, {.op = "AllReduce", .inputs = {x, weight}, .name = "sum"});
  }
  TunerCase made = CaseOf(std::move(g).Build().value(), StandardOps(),
                          kernel_ns, LinkOf(1e6));
  for (const Node& node : made.graph.nodes()) {
    if (IsCollective(node.op)) made.kernel_ns[node.id] = collective_ns;
  }
  return made;
}

TEST(LowerBoundTest, CollectivesAreNoKernelsOfTheComputeLane) {
  for (const int64_t collective_ns : {10, 1000, 100'000}) {
    const TunerCase made = Reduced(1000, collective_ns);
    const StepTimeBound kernels = BoundOf(made, int64_t{1} << 30);
    EXPECT_EQ(kernels.kernels_ns, 4 * 1000);
    EXPECT_EQ(kernels.step_ns, 4 * 1000);
    const StepTimeBound bound =
        WithCommunication(kernels, made.graph, made.kernel_ns);
    EXPECT_EQ(bound.communication_ns, 4 * collective_ns);
    EXPECT_EQ(bound.step_ns, std::max<int64_t>(4000, 4 * collective_ns));
    EXPECT_EQ(BoundReason(bound),
              collective_ns > 1000 ? "communication" : "compute");
    ASSERT_OK_AND_ASSIGN(
        const ExecutionPlan plan,
        CompilePlan(made.graph, made.ops, made.schedule, made.options));
    EXPECT_LE(
        bound.step_ns,
        SimulateStep(plan, made.graph, made.kernel_ns, made.profile).step_ns);
  }
}

}  // namespace
}  // namespace spillway

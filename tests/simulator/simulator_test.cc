#include "simulator/simulator.h"

#include <array>
#include <cmath>
#include <vector>

#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using testing::PlanCase;
using testing::RandomPlanCase;

// A byte a nanosecond each way, half of that when both ways copy.
DeviceProfile Profile(int64_t latency_ns = 0, int64_t issue_ns = 0) {
  const LinkDirection link = {.latency_ns = latency_ns,
                              .bytes_per_second = 1e9,
                              .shared_bytes_per_second = 5e8};
  return {.to_host = link, .to_device = link, .issue_ns = issue_ns};
}

int64_t StallNs(const SimulatedStep& step, StallCause cause) {
  return step.stall_ns[static_cast<size_t>(cause)];
}

int64_t BusyNs(const SimulatedStep& step, Lane lane) {
  return step.busy_ns[static_cast<size_t>(lane)];
}

TEST(SimulatorTest, AChainTakesTheSumOfItsKernels) {
  const Graph graph = ChainGraph(4, 1000, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep step = SimulateStep(
      plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10), Profile());
  EXPECT_EQ(step.step_ns, 80);
  EXPECT_EQ(BusyNs(step, Lane::kCompute), 80);
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 0);
  EXPECT_EQ(step.timeline.spans.size(), 8U);
  EXPECT_EQ(TotalNs(step.timeline), 80);
  for (const int64_t stall : step.stall_ns) EXPECT_EQ(stall, 0);
}

TEST(SimulatorTest, ASlowHostIsWhatTheStepTakes) {
  const Graph graph = ChainGraph(4, 1000, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep step =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   Profile(0, 100));
  EXPECT_EQ(step.step_ns, 810);  // the eighth is issued at 800
  EXPECT_EQ(StallNs(step, StallCause::kIssue), 730);
}

// out and in have no edge between them: two pairs of values of this size.
struct TwoCopies {
  Graph graph = Graph("copies");
  ExecutionPlan plan = {};
};

TwoCopies CopyBothWays(int64_t out_bytes, int64_t in_bytes) {
  TwoCopies copies;
  for (const int64_t bytes : {out_bytes, in_bytes}) {
    const bool out = copies.plan.steps.empty();
    const TensorType type{.dtype = DType::kUInt8, .shape = {bytes}};
    const NodeId node = copies.graph.AddNode(
        {.name = out ? "out" : "in", .op = "Copy", .outputs = {type}});
    const BufferId buffer = copies.plan.buffers.push_back({.bytes = bytes});
    copies.plan.steps.push_back(
        {.node = node,
         .kind = out ? StepKind::kSwapOut : StepKind::kSwapIn,
         .lane = out ? Lane::kCopyOut : Lane::kCopyIn,
         .inputs = {buffer},
         .outputs = {buffer}});
  }
  return copies;
}

TEST(SimulatorTest, CopiesOfBothDirectionsShareTheLink) {
  const TwoCopies copies = CopyBothWays(1000, 500);
  const SimulatedStep step = SimulateStep(
      copies.plan, copies.graph, IdMap<NodeId, int64_t>(2, 0), Profile());
  // 500 bytes of each in 1000 ns, then 500 alone.
  EXPECT_EQ(BusyNs(step, Lane::kCopyIn), 1000);
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 1500);
  EXPECT_EQ(step.step_ns, 1500);
}

TEST(SimulatorTest, EachCopyPaysItsLatency) {
  const TwoCopies copies = CopyBothWays(0, 1000);
  const SimulatedStep step = SimulateStep(
      copies.plan, copies.graph, IdMap<NodeId, int64_t>(2, 0), Profile(70));
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 70);
  EXPECT_EQ(BusyNs(step, Lane::kCopyIn), 1070);
}

TEST(SimulatorTest, ComputeStallsForWhatItWaitsFor) {
  const Graph graph = ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep slow = SimulateStep(
      plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10), Profile());
  EXPECT_GT(StallNs(slow, StallCause::kCopyOut), 0);
  EXPECT_GT(StallNs(slow, StallCause::kCopyIn), 0);
  const SimulatedStep fast = SimulateStep(
      plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 100000),
      Profile());
  EXPECT_LT(fast.step_ns - 16 * 100000, slow.step_ns);
  int64_t stalls = 0;
  for (const int64_t stall : slow.stall_ns) stalls += stall;
  EXPECT_LE(BusyNs(slow, Lane::kCompute) + stalls, slow.step_ns);
}

// A chain whose copies are waited for, played on a slow link.
SimulatedStep StallingStep(const ExecutionPlan& plan, const Graph& graph) {
  return SimulateStep(plan, graph,
                      IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                      Profile(0, 3));
}

TEST(SimulatorTest, EveryStallIsOfOneStepAndEndsWhereThatBegins) {
  const Graph graph = ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep step = StallingStep(plan, graph);
  int64_t compute_end_ns = 0;
  size_t next = 0;  // of the stalls
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[StepId(i)].lane != Lane::kCompute) continue;
    const Interval ran = step.ran[StepId(i)];
    if (ran.begin > compute_end_ns) {
      ASSERT_LT(next, step.stalls.size());
      const Stall& stall = step.stalls[next++];
      EXPECT_EQ(stall.step, StepId(i));
      EXPECT_EQ(stall.ns, ran.begin - compute_end_ns);
      if (stall.copy.is_valid()) {
        EXPECT_EQ(step.ran[stall.copy].end, ran.begin);
      }
    }
    compute_end_ns = ran.end;
  }
  EXPECT_EQ(next, step.stalls.size());
}

TEST(SimulatorTest, CopiesAreChargedWithTheStallsOfTheirCause) {
  const Graph graph = ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep step = StallingStep(plan, graph);
  std::array<int64_t, kNumLanes> charged = {};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    charged[static_cast<size_t>(plan.steps[StepId(i)].lane)] +=
        step.charged_ns[StepId(i)];
  }
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCompute)], 0);
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCopyIn)],
            StallNs(step, StallCause::kCopyIn));
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCopyOut)],
            StallNs(step, StallCause::kCopyOut));
  EXPECT_GT(charged[static_cast<size_t>(Lane::kCopyIn)], 0);
  EXPECT_GT(StallNs(step, StallCause::kIssue), 0);
}

// Plays the plan nanosecond by nanosecond; bytes are counted in halves.
class SlowSimulator {
 public:
  SlowSimulator(const ExecutionPlan& plan, const IdMap<NodeId, int64_t>& times,
                int64_t latency_ns, int64_t issue_ns)
      : plan_(plan),
        times_(times),
        latency_ns_(latency_ns),
        issue_ns_(issue_ns),
        end_(plan.steps.size(), -1) {}

  std::vector<int64_t> Ends() {
    size_t done = 0;
    for (int64_t now = 0; done < end_.size(); ++now) {
      while (StartOrFinish(now, done)) {
      }
      const bool shared = IsCopying(Lane::kCopyOut) && IsCopying(Lane::kCopyIn);
      for (Running& running : running_) {
        if (running.step < 0) continue;
        if (running.fixed > 0) {
          --running.fixed;
        } else {
          running.halves -= shared ? 1 : 2;
        }
      }
    }
    return end_;
  }

 private:
  struct Running {
    int64_t step = -1;
    int64_t fixed = 0;
    int64_t halves = 0;
  };

  bool IsCopying(Lane lane) const {
    return running_[static_cast<size_t>(lane)].step >= 0;
  }

  bool StartOrFinish(int64_t now, size_t& done) {
    bool changed = false;
    for (Running& running : running_) {
      if (running.step < 0 || running.fixed > 0 || running.halves > 0) continue;
      end_[static_cast<size_t>(running.step)] = now;
      running = {};
      ++done;
      changed = true;
    }
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      changed = TryStart(lane, now) || changed;
    }
    return changed;
  }

  // The first step of the lane that has not ended.
  bool TryStart(size_t lane, int64_t now) {
    if (running_[lane].step >= 0) return false;
    for (size_t i = 0; i < end_.size(); ++i) {
      const Step& step = plan_.steps[StepId(i)];
      if (static_cast<size_t>(step.lane) != lane || end_[i] >= 0) continue;
      if (static_cast<int64_t>(i + 1) * issue_ns_ > now) return false;
      for (const StepId wait : step.waits) {
        if (end_[wait.index()] < 0) return false;
      }
      running_[lane] = {.step = static_cast<int64_t>(i)};
      if (step.kind == StepKind::kCompute) {
        running_[lane].fixed = times_[step.node];
      } else if (step.kind != StepKind::kAlias) {
        running_[lane].fixed = latency_ns_;
        running_[lane].halves = 2 * plan_.buffers[step.outputs[0]].bytes;
      }
      return true;
    }
    return false;
  }

  const ExecutionPlan& plan_;
  const IdMap<NodeId, int64_t>& times_;
  const int64_t latency_ns_;
  const int64_t issue_ns_;
  std::array<Running, kNumLanes> running_ = {};
  std::vector<int64_t> end_;
};

TEST(SimulatorTest, RandomPlansTakeWhatASlowTwinSays) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 20});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, testing::Compile(plan_case));
    IdMap<NodeId, int64_t> times;
    for (size_t i = 0; i < plan_case.graph.num_nodes(); ++i) {
      times.push_back(static_cast<int64_t>((seed * 31 + i * 17) % 900));
    }
    const auto latency_ns = static_cast<int64_t>(seed % 3 * 40);
    const auto issue_ns = static_cast<int64_t>(seed % 4 * 25);
    const SimulatedStep step = SimulateStep(plan, plan_case.graph, times,
                                            Profile(latency_ns, issue_ns));
    const std::vector<int64_t> ends =
        SlowSimulator(plan, times, latency_ns, issue_ns).Ends();
    int64_t last = 0;
    for (const int64_t end : ends) last = std::max(last, end);
    EXPECT_EQ(step.step_ns, last);
    for (size_t i = 0; i < ends.size(); ++i) {
      EXPECT_EQ(step.ran[StepId(i)].end, ends[i]) << "step " << i;
    }
    for (const Span& span : step.timeline.spans) {
      bool found = false;
      for (size_t i = 0; i < ends.size(); ++i) {
        const Node& node = plan_case.graph.node(plan.steps[StepId(i)].node);
        if (node.name != span.name) continue;
        found = true;
        EXPECT_EQ(span.end_ns, ends[i]) << span.name;
      }
      EXPECT_TRUE(found) << span.name;
    }
  }
}

}  // namespace
}  // namespace spillway

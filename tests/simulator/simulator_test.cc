#include "simulator/simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
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

// A byte per nanosecond in each direction, half of that when both copy.
DeviceProfile LinkProfile(int64_t latency_ns = 0, int64_t issue_ns = 0) {
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
  const SimulatedStep step =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   LinkProfile());
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
                   LinkProfile(0, 100));
  EXPECT_EQ(step.step_ns, 810);  // the eighth is issued at 800
  EXPECT_EQ(StallNs(step, StallCause::kIssue), 730);
}

// The host only issues the launch: the kernels follow without stalls.
TEST(SimulatorTest, ACapturedStepIsIssuedOnce) {
  const Graph graph = ChainGraph(4, 1000, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  DeviceProfile profile = LinkProfile(0, 100);
  profile.call_ns = 7;
  const SimulatedStep step =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   ForCapturedSteps(profile));
  EXPECT_EQ(step.step_ns, 80 + 100 + 7);
  EXPECT_EQ(StallNs(step, StallCause::kIssue), 0);
}

// `out` and `in` have no edge between them: two pairs of values of this size.
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
      copies.plan, copies.graph, IdMap<NodeId, int64_t>(2, 0), LinkProfile());
  // 500 bytes of each in 1000 ns, then 500 without the other.
  EXPECT_EQ(BusyNs(step, Lane::kCopyIn), 1000);
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 1500);
  EXPECT_EQ(step.step_ns, 1500);
}

TEST(SimulatorTest, EachCopyPaysItsLatency) {
  const TwoCopies copies = CopyBothWays(0, 1000);
  const SimulatedStep step = SimulateStep(
      copies.plan, copies.graph, IdMap<NodeId, int64_t>(2, 0), LinkProfile(70));
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 70);
  EXPECT_EQ(BusyNs(step, Lane::kCopyIn), 1070);
}

TEST(SimulatorTest, CopiesTakeTheTimesOfTheTable) {
  DeviceProfile profile = LinkProfile(70);
  profile.to_host.by_size = {{.bytes = 100, .alone_ns = 50, .shared_ns = 80},
                             {.bytes = 300, .alone_ns = 90, .shared_ns = 360}};
  profile.to_device.by_size = {{.bytes = 1, .alone_ns = 10, .shared_ns = 20}};
  const IdMap<NodeId, int64_t> times(2, 0);
  // In: one byte takes 20 ns, since the copy is never alone. Out: 200 bytes
  // take 70 ns alone and 220 during another copy; the rest after those 20 ns
  // takes its time alone.
  const TwoCopies copies = CopyBothWays(200, 1);
  const SimulatedStep step =
      SimulateStep(copies.plan, copies.graph, times, profile);
  EXPECT_EQ(BusyNs(step, Lane::kCopyIn), 20);
  EXPECT_EQ(BusyNs(step, Lane::kCopyOut), 20 + std::ceil(70 - 20 * 70.0 / 220));
}

TEST(SimulatorTest, TheCallIsOnTopOfTheLanes) {
  const Graph graph = ChainGraph(4, 1000, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  DeviceProfile profile = LinkProfile();
  profile.call_ns = 7;
  EXPECT_EQ(SimulateStep(plan, graph,
                         IdMap<NodeId, int64_t>(graph.num_nodes(), 10), profile)
                .step_ns,
            87);
}

TEST(SimulatorTest, ComputeStallsForWhatItWaitsFor) {
  const Graph graph = ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep slow =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   LinkProfile());
  EXPECT_GT(StallNs(slow, StallCause::kCopyOut), 0);
  EXPECT_GT(StallNs(slow, StallCause::kCopyIn), 0);
  const SimulatedStep fast = SimulateStep(
      plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 100000),
      LinkProfile());
  EXPECT_LT(fast.step_ns - 16 * 100000, slow.step_ns);
  int64_t stalls = 0;
  for (const int64_t stall : slow.stall_ns) stalls += stall;
  EXPECT_LE(BusyNs(slow, Lane::kCompute) + stalls, slow.step_ns);
}

// A chain whose copies stall compute, on a slow link.
SimulatedStep StallingStep(const ExecutionPlan& plan, const Graph& graph) {
  return SimulateStep(plan, graph,
                      IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                      LinkProfile(0, 3));
}

TEST(SimulatorTest, EveryStallIsOfOneStepAndEndsWhereThatBegins) {
  const Graph graph = ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  const SimulatedStep step = StallingStep(plan, graph);
  int64_t compute_end_ns = 0;
  size_t next = 0;  // index of a stall
  for (const StepId id : plan.steps.ids()) {
    if (plan.steps[id].lane != Lane::kCompute) continue;
    const Interval ran = step.ran[id];
    if (ran.begin > compute_end_ns) {
      ASSERT_LT(next, step.stalls.size());
      const Stall& stall = step.stalls[next++];
      EXPECT_EQ(stall.step, id);
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
  for (const StepId id : plan.steps.ids()) {
    charged[static_cast<size_t>(plan.steps[id].lane)] += step.charged_ns[id];
  }
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCompute)], 0);
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCopyIn)],
            StallNs(step, StallCause::kCopyIn));
  EXPECT_EQ(charged[static_cast<size_t>(Lane::kCopyOut)],
            StallNs(step, StallCause::kCopyOut));
  EXPECT_GT(charged[static_cast<size_t>(Lane::kCopyIn)], 0);
  EXPECT_GT(StallNs(step, StallCause::kIssue), 0);
}

// The machine of a case. Concurrent copies in opposite directions run at half
// speed.
struct Machine {
  int64_t latency_ns = 0;
  int64_t issue_ns = 0;
  int64_t wake_ns = 0;
  bool in_turn = false;
  bool has_table = false;    // else a byte per nanosecond
  bool copies_slow = false;  // copies halve the speed of kernels
  bool staged = false;       // kernels of the communication lane
  // Kernels halve the speed of those of the communication lane, and these of
  // kernels.
  bool contends = false;
  double jitter = 0;  // of two ranks
};

// The numbers of TableNs as a profile.
DeviceProfile ToProfile(const Machine& machine) {
  DeviceProfile profile = LinkProfile(machine.latency_ns, machine.issue_ns);
  profile.wake_ns = machine.wake_ns;
  profile.in_turn = machine.in_turn;
  profile.kernel_ns_per_copied_byte = machine.copies_slow ? 1 : 0;
  profile.network = {.contention = machine.contends ? 1.0 : 0.0,
                     .is_staged = machine.staged,
                     .jitter = machine.jitter,
                     .ranks = 2};
  if (!machine.has_table) return profile;
  profile.to_host.by_size = {
      {.bytes = 100, .alone_ns = 1100, .shared_ns = 2200},
      {.bytes = 1000, .alone_ns = 2000, .shared_ns = 4000}};
  profile.to_device.by_size = profile.to_host.by_size;
  return profile;
}

int64_t TableNs(int64_t bytes) {
  if (bytes < 100) return 1100;
  return bytes < 1000 ? 1000 + bytes : 2 * bytes;
}

// What a rank sends of the node's values.
int64_t OutputBytes(const Graph& graph, NodeId node) {
  int64_t bytes = 0;
  for (const ValueId output : graph.node(node).outputs) {
    bytes += graph.type(output).num_bytes();
  }
  return bytes;
}

// Naive twin: simulates the plan nanosecond by nanosecond; counts work in
// quarters.
class SlowSimulator {
 public:
  SlowSimulator(const ExecutionPlan& plan, const Graph& graph,
                const IdMap<NodeId, int64_t>& times, const Machine& machine)
      : plan_(plan),
        graph_(graph),
        times_(times),
        machine_(machine),
        end_(plan.steps.size(), -1) {}

  std::vector<int64_t> Ends() {
    size_t done = 0;
    for (int64_t now = 0; done < end_.size(); ++now) {
      while (StartOrFinish(now, done)) {
      }
      WorkOneNanosecond();
    }
    return end_;
  }

 private:
  // A part of a step: a kernel ('k'), or a copy out ('o') or in ('i').
  struct Work {
    char kind = 'k';
    int64_t fixed = 0;
    int64_t quarters = 0;
  };
  struct Running {
    int64_t step = -1;
    std::vector<Work> parts = {};  // the first one is running
  };

  // Lanes with such a part.
  int64_t Count(char kind) const {
    return std::ranges::count_if(running_, [&](const Running& running) {
      return running.step >= 0 && running.parts[0].kind == kind;
    });
  }

  bool HasKernel(Lane lane) const {
    const Running& running = running_[static_cast<size_t>(lane)];
    return running.step >= 0 && running.parts[0].kind == 'k';
  }

  // The quarters of its work that a part does in a nanosecond.
  int64_t Speed(Lane lane, char kind) const {
    const bool contends = machine_.contends && HasKernel(Lane::kCompute) &&
                          HasKernel(Lane::kCommunication);
    if (kind != 'k') {
      const bool shared = Count('o') > 0 && Count('i') > 0;
      return 4 / Count(kind) / (shared ? 2 : 1);
    }
    if (lane == Lane::kCommunication) return contends ? 2 : 4;
    if (lane != Lane::kCompute) return 4;
    const bool copying = Count('o') + Count('i') > 0;
    return 4 / (contends ? 2 : 1) / (copying && machine_.copies_slow ? 2 : 1);
  }

  void WorkOneNanosecond() {
    std::array<int64_t, kNumLanes> speeds = {};
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      if (running_[lane].step < 0) continue;
      speeds[lane] =
          Speed(static_cast<Lane>(lane), running_[lane].parts[0].kind);
    }
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      if (running_[lane].step < 0) continue;
      Work& part = running_[lane].parts[0];
      if (part.fixed > 0) {
        --part.fixed;
      } else {
        part.quarters -= speeds[lane];
      }
    }
  }

  bool StartOrFinish(int64_t now, size_t& done) {
    bool changed = false;
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      Running& running = running_[lane];
      if (running.step < 0 || running.parts[0].fixed > 0 ||
          running.parts[0].quarters > 0) {
        continue;
      }
      changed = true;
      running.parts.erase(running.parts.begin());
      if (!running.parts.empty()) continue;
      end_[static_cast<size_t>(running.step)] = now;
      free_[lane] = now;
      running = {};
      ++done;
    }
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      changed = TryStart(lane, now) || changed;
    }
    return changed;
  }

  // Tries to start the first step of the lane that has not ended.
  bool TryStart(size_t lane, int64_t now) {
    if (running_[lane].step >= 0) return false;
    bool all_before_ended = true;
    for (size_t i = 0; i < end_.size(); ++i) {
      const Step& step = plan_.steps[StepId(i)];
      if (static_cast<size_t>(step.lane) != lane || end_[i] >= 0) {
        all_before_ended = all_before_ended && end_[i] >= 0;
        continue;
      }
      if (machine_.in_turn && !all_before_ended) return false;
      if (!IsReady(i, free_[lane], now)) return false;
      Start(step, i, running_[lane]);
      return true;
    }
    return false;
  }

  bool IsReady(size_t i, int64_t free_ns, int64_t now) const {
    if (static_cast<int64_t>(i + 1) * machine_.issue_ns > now) return false;
    for (const StepId wait : plan_.steps[StepId(i)].waits) {
      const int64_t end = end_[wait.index()];
      if (end < 0) return false;
      if (end > free_ns && now < end + machine_.wake_ns) return false;
    }
    return true;
  }

  void Start(const Step& step, size_t i, Running& running) const {
    running = {.step = static_cast<int64_t>(i)};
    if (step.kind == StepKind::kAlias) {
      running.parts = {{}};
    } else if (step.kind == StepKind::kCompute) {
      running.parts = {{.fixed = IsLastCollective(i) ? Lateness() : 0,
                        .quarters = 4 * times_[step.node]}};
      if (step.lane != Lane::kCommunication || !machine_.staged) return;
      const int64_t bytes = OutputBytes(graph_, step.node);
      running.parts.insert(running.parts.begin(), Copy('o', bytes));
      running.parts.push_back(Copy('i', bytes));
    } else {
      running.parts = {Copy(step.lane == Lane::kCopyOut ? 'o' : 'i',
                            plan_.buffers[step.outputs[0]].bytes)};
    }
  }

  bool IsLastCollective(size_t i) const {
    for (const StepId id : plan_.steps.ids()) {
      if (plan_.steps[id].lane == Lane::kCommunication && id.index() > i) {
        return false;
      }
    }
    return plan_.steps[StepId(i)].lane == Lane::kCommunication;
  }

  // The larger of two standard normal numbers is 1 / sqrt(pi) on average.
  int64_t Lateness() const {
    int64_t kernels = 0;
    for (const Step& step : plan_.steps) {
      if (step.lane == Lane::kCompute && step.kind == StepKind::kCompute) {
        kernels += times_[step.node];
      }
    }
    return std::llround(static_cast<double>(kernels) * machine_.jitter *
                        std::numbers::inv_sqrtpi);
  }

  Work Copy(char kind, int64_t bytes) const {
    return {.kind = kind,
            .fixed = machine_.has_table ? 0 : machine_.latency_ns,
            .quarters = 4 * (machine_.has_table ? TableNs(bytes) : bytes)};
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const IdMap<NodeId, int64_t>& times_;
  const Machine machine_;
  std::array<Running, kNumLanes> running_ = {};
  std::array<int64_t, kNumLanes> free_ = {};  // end of the lane's last step
  std::vector<int64_t> end_;
};

// Every step of the plan ends at the time that the twin computes.
void ExpectTwinAgrees(const PlanCase& plan_case, const ExecutionPlan& plan,
                      const IdMap<NodeId, int64_t>& times,
                      const Machine& machine) {
  const SimulatedStep step =
      SimulateStep(plan, plan_case.graph, times, ToProfile(machine));
  const std::vector<int64_t> ends =
      SlowSimulator(plan, plan_case.graph, times, machine).Ends();
  int64_t last_ns = 0;  // a plan may have no steps
  for (const int64_t end : ends) last_ns = std::max(last_ns, end);
  EXPECT_EQ(step.step_ns, last_ns);
  int64_t compute_ns = BusyNs(step, Lane::kCompute);
  for (const int64_t stall : step.stall_ns) compute_ns += stall;
  int64_t last_compute_ns = 0;
  std::map<std::string, int64_t> end_of;
  for (const Span& span : step.timeline.spans) end_of[span.name] = span.end_ns;
  for (size_t i = 0; i < ends.size(); ++i) {
    const Step& planned = plan.steps[StepId(i)];
    if (planned.lane == Lane::kCompute) {
      last_compute_ns = std::max(last_compute_ns, ends[i]);
    }
    if (planned.kind == StepKind::kAlias) continue;
    const std::string& name = plan_case.graph.node(planned.node).name;
    ASSERT_TRUE(end_of.contains(name)) << name;
    EXPECT_EQ(end_of[name], ends[i]) << name;
  }
  EXPECT_EQ(compute_ns, last_compute_ns);  // every stall has a cause
}

// Every third kernel. The plan need not be right: both twins follow its waits.
void MoveToCommunicationLane(ExecutionPlan& plan) {
  for (const StepId id : plan.steps.ids()) {
    Step& step = plan.steps[id];
    if (id.index() % 3 == 0 && step.kind == StepKind::kCompute &&
        step.lane == Lane::kCompute) {
      step.lane = Lane::kCommunication;
    }
  }
}

TEST(SimulatorTest, RandomPlansTakeWhatASlowTwinSays) {
  for (uint64_t seed = 0; seed < 480; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed / 2, .nodes = 20});
    ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, testing::Compile(plan_case));
    if (seed % 4 >= 2) MoveToCommunicationLane(plan);
    IdMap<NodeId, int64_t> times;
    for (size_t i = 0; i < plan_case.graph.num_nodes(); ++i) {
      times.push_back(static_cast<int64_t>((seed * 31 + i * 17) % 900));
    }
    Machine machine = {.latency_ns = static_cast<int64_t>(seed % 3 * 40),
                       .issue_ns = static_cast<int64_t>(seed % 4 * 25),
                       .wake_ns = static_cast<int64_t>(seed % 5 * 15),
                       .in_turn = seed % 7 == 0,
                       .has_table = seed % 2 == 1,
                       .staged = seed % 8 >= 4,
                       .contends = seed % 3 == 0,
                       .jitter = seed % 5 < 2 ? 0.1 : 0};
    // The twin counts in halves, so copies must run at one byte per nanosecond.
    machine.copies_slow = machine.latency_ns == 0 && !machine.has_table;
    ExpectTwinAgrees(plan_case, plan, times, machine);
  }
}

}  // namespace
}  // namespace spillway

// The trace of a predicted step, read back: its arrows are the graph's edges
// behind its swap-ins, and its stalls are those of the simulator.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/plan/explain_timeline.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "simulator/simulator.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/chrome_trace.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ReadChromeTrace;
using testing::ReadTrace;
using testing::TraceArrow;
using testing::TraceSlice;

using Names = std::set<std::pair<std::string, std::string>>;

struct TracedPlan {
  PlanCase plan_case = {};
  ExecutionPlan plan = {};
  SimulatedStep step = {};
  ReadTrace trace = {};
};

// A random plan on a slow link, with a host that is never late.
TracedPlan TraceRandomPlan(uint64_t seed) {
  TracedPlan traced;
  traced.plan_case = RandomPlanCase({.seed = seed, .nodes = 20});
  traced.plan = Compile(traced.plan_case).value();
  const Graph& graph = traced.plan_case.graph;
  const LinkDirection link = {
      .latency_ns = 7, .bytes_per_second = 1e9, .shared_bytes_per_second = 5e8};
  IdMap<NodeId, int64_t> kernel_ns(graph.num_nodes(), 0);
  for (const Node& node : graph.nodes()) {
    kernel_ns[node.id] = node.id.value() * 37 % 500;
  }
  traced.step = SimulateStep(traced.plan, graph, kernel_ns,
                             {.to_host = link, .to_device = link});
  ExplainTimeline(traced.plan, graph, traced.step.timeline);
  traced.trace = ReadChromeTrace(
      FormatChromeTrace({{"predicted", &traced.step.timeline}}));
  return traced;
}

std::map<NodeId, StepKind> KindsOf(const ExecutionPlan& plan) {
  std::map<NodeId, StepKind> kinds;
  for (const Step& step : plan.steps) kinds[step.node] = step.kind;
  return kinds;
}

// The kernels that read a value, possibly through aliases.
void AddReaders(const TracedPlan& traced, ValueId value,
                std::set<std::string>& readers) {
  const Graph& graph = traced.plan_case.graph;
  const std::map<NodeId, StepKind> kinds = KindsOf(traced.plan);
  for (const Use& use : graph.uses(value)) {
    const Node& node = graph.node(use.node);
    const auto kind = kinds.find(node.id);
    if (kind == kinds.end()) continue;  // does not run
    if (kind->second == StepKind::kCompute) readers.insert(node.name);
    if (kind->second != StepKind::kAlias) continue;
    for (const ValueId output : node.outputs) {
      AddReaders(traced, output, readers);
    }
  }
}

Names ExpectedArrows(const TracedPlan& traced) {
  const Graph& graph = traced.plan_case.graph;
  Names arrows;
  for (const Step& step : traced.plan.steps) {
    const Node& back = graph.node(step.node);
    if (back.op != kSwapIn) continue;
    if (step.kind == StepKind::kSwapIn) {  // a feed has no swap-out
      arrows.emplace(graph.producer(back.inputs[0]).name, back.name);
    }
    std::set<std::string> readers;
    AddReaders(traced, graph.output(back.id), readers);
    for (const std::string& reader : readers) arrows.emplace(back.name, reader);
  }
  return arrows;
}

TEST(StepTraceTest, ArrowsGoFromSwapOutsToSwapInsAndOnToEveryReader) {
  size_t arrows = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TracedPlan traced = TraceRandomPlan(seed);
    EXPECT_THAT(traced.trace.faults, ElementsAre());
    Names drawn;
    for (const TraceArrow& arrow : traced.trace.arrows) {
      EXPECT_TRUE(drawn.emplace(arrow.from.name, arrow.to.name).second);
      EXPECT_LE(arrow.from.end_ns, arrow.to.begin_ns);
    }
    EXPECT_EQ(drawn, ExpectedArrows(traced));
    arrows += drawn.size();
  }
  EXPECT_GT(arrows, 100U);
}

TEST(StepTraceTest, StallsAreThoseOfTheSimulator) {
  size_t num_stalls = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TracedPlan traced = TraceRandomPlan(seed);
    const Graph& graph = traced.plan_case.graph;
    std::vector<std::string> expected;
    for (const Stall& stall : traced.step.stalls) {
      const int64_t end_ns = traced.step.ran[stall.step].begin;
      const Step& copy = traced.plan.steps[stall.copy];
      expected.push_back(
          fmt::format("{}-{} {} waits for {} before {}", end_ns - stall.ns,
                      end_ns, LaneName(copy.lane), graph.node(copy.node).name,
                      graph.node(traced.plan.steps[stall.step].node).name));
    }
    std::vector<std::string> drawn;
    for (const TraceSlice& slice : traced.trace.slices) {
      if (slice.thread != "stalls") continue;
      drawn.push_back(fmt::format("{}-{} {} {} before {}", slice.begin_ns,
                                  slice.end_ns, slice.category, slice.name,
                                  slice.args["before"].get<std::string>()));
    }
    EXPECT_EQ(drawn, expected);
    num_stalls += drawn.size();
  }
  EXPECT_GT(num_stalls, 100U);
}

}  // namespace
}  // namespace spillway

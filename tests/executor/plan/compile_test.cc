#include "executor/plan/compile.h"

#include "base/units.h"
#include "executor/plan/verify_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::ChainGraph;
using testing::Compile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::ToyOps;

const TensorType kKilobyte{.dtype = DType::kUInt8, .shape = {1024}};

ValueId Add(Graph& graph, std::string name, std::string op,
            std::vector<ValueId> inputs) {
  return graph.output(graph.AddNode({.name = std::move(name),
                                     .op = std::move(op),
                                     .inputs = std::move(inputs),
                                     .outputs = {kKilobyte}}));
}

TEST(CompileTest, ChainKeepsForwardValuesUntilTheirBackwardReader) {
  const Graph graph = ChainGraph(4, 1_KiB, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  // f1..f4 and b4, when b4 runs.
  EXPECT_EQ(plan.device_bytes, 5_KiB);
  EXPECT_EQ(plan.host_bytes, 0);
}

TEST(CompileTest, SwappingLowersThePeakAndUsesTheHost) {
  const Graph graph = ChainGraph(8, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  EXPECT_LT(plan.device_bytes, 9_KiB);
  EXPECT_EQ(plan.host_bytes, 6_KiB);
}

TEST(CompileTest, APlanUsesItsBudgetToWaitLater) {
  const Graph graph = ChainGraph(8, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan least, Compile(graph));
  const auto waits = [](const ExecutionPlan& plan) {
    size_t count = 0;
    for (const Step& step : plan.steps) {
      if (step.lane != Lane::kCompute) continue;
      for (const StepId wait : step.waits) {
        count += plan.steps[wait].lane == Lane::kCopyOut ? 1 : 0;
      }
    }
    return count;
  };
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan roomy,
                       Compile(graph, {.device_budget_bytes = 64_KiB}));
  EXPECT_THAT(VerifyPlan(roomy, graph, ToyOps()), IsOk());
  EXPECT_GT(waits(least), 0U);
  EXPECT_EQ(waits(roomy), 0U);
}

TEST(CompileTest, EveryBudgetDownToTheLeastGivesAValidPlan) {
  const Graph graph = ChainGraph(12, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan least, Compile(graph));
  for (int64_t budget = least.device_bytes; budget < 16_KiB; budget += 512) {
    SCOPED_TRACE(budget);
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         Compile(graph, {.device_budget_bytes = budget}));
    EXPECT_LE(plan.device_bytes, budget);
    EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  }
}

TEST(CompileTest, TooSmallABudgetNamesFloorMissingBytesAndWhatWouldFit) {
  const Graph graph = ChainGraph(4, 1_KiB, false);
  EXPECT_THAT(Compile(graph, {.device_budget_bytes = 4_KiB}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1 KiB missing"),
                             HasSubstr("smallest budget with these options is "
                                       "5120 bytes"),
                             HasSubstr("at b3; swap or recompute more"))));
}

TEST(CompileTest, HostPoolHasItsOwnError) {
  const Graph graph = ChainGraph(8, 1_KiB, true);
  EXPECT_THAT(Compile(graph, {.host_budget_bytes = 5_KiB}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("host swap pool exhausted: need")));
}

// x is fed and read by a; its copy back is read by b.
Graph SwappedFeed() {
  Graph graph;
  const ValueId x = Add(graph, "x", "Placeholder", {});
  const ValueId a = Add(graph, "a", "F", {x});
  const ValueId out = Add(graph, "out", "SwapOut", {x});
  Add(graph, "b", "F", {a, Add(graph, "in", "SwapIn", {out})});
  return graph;
}

TEST(CompileTest, ASwappedFeedIsFedAgain) {
  const Graph graph = SwappedFeed();
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  const ValueId x = graph.FindValue("x").value();
  std::vector<std::string> fed;
  for (const Step& step : plan.steps) {
    const bool is_fed = step.kind == StepKind::kFeed;
    EXPECT_NE(step.lane, Lane::kCopyOut);
    EXPECT_EQ(is_fed, step.lane == Lane::kCopyIn);
    EXPECT_EQ(step.feed, is_fed ? x : ValueId());
    if (is_fed) fed.push_back(graph.node(step.node).name);
  }
  EXPECT_THAT(fed, ElementsAre("x", "in"));
  EXPECT_EQ(plan.host_bytes, 0);
  EXPECT_EQ(plan.device_bytes, 3_KiB);  // a, in and b
}

TEST(CompileTest, AFeedWhoseCopyOnTheHostIsReadElsewhereIsSwapped) {
  Graph graph = SwappedFeed();
  graph.AddNode({.name = "host",
                 .op = "F",
                 .inputs = {graph.FindValue("out").value()},
                 .outputs = {kKilobyte},
                 .placement = Placement::kHost});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  EXPECT_EQ(plan.host_bytes, 2_KiB);
}

TEST(CompileTest, FetchedValuesKeepTheirBytes) {
  const Graph graph = ChainGraph(4, 1_KiB, false);
  ASSERT_OK_AND_ASSIGN(const ValueId fetch, graph.FindValue("f2"));
  ASSERT_OK_AND_ASSIGN(const ValueId last, graph.FindValue("b1"));
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                       Compile(graph, {.fetches = {fetch, last}}));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
}

TEST(CompileTest, AnInPlaceOpTakesOverADeadInput) {
  Graph graph;
  const ValueId x = Add(graph, "x", "F", {});
  const ValueId y = Add(graph, "y", "InPlace", {x});
  Add(graph, "z", "F", {y});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_EQ(plan.buffer_of[x], plan.buffer_of[y]);
  EXPECT_EQ(plan.device_bytes, 2_KiB);
}

TEST(CompileTest, TwoOutputsTakeOverTwoDeadInputs) {
  Graph graph;
  const ValueId a = Add(graph, "a", "F", {});
  const ValueId b = Add(graph, "b", "F", {});
  const NodeId both = graph.AddNode({.name = "both",
                                     .op = "InPlaceBoth",
                                     .inputs = {a, b},
                                     .outputs = {kKilobyte, kKilobyte}});
  const std::vector<ValueId> outputs = graph.node(both).outputs;
  Add(graph, "z", "F", outputs);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_EQ(plan.buffer_of[outputs[0]], plan.buffer_of[b]);
  EXPECT_EQ(plan.buffer_of[outputs[1]], plan.buffer_of[a]);
  EXPECT_EQ(plan.device_bytes, 3_KiB);  // a, b and z
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  OpRegistry one_at_a_time;
  const OpRegistry ops = ToyOps();
  for (const auto& [name, def] : ops.ops()) {
    OpDef copy = def;
    copy.in_place_together = false;
    one_at_a_time.Add(std::move(copy));
  }
  EXPECT_THAT(VerifyPlan(plan, graph, one_at_a_time),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("2 outputs overwrite inputs, but InPlaceBoth "
                                 "allows only one")));
}

TEST(CompileTest, AnInPlaceOpSparesAnInputThatIsReadLater) {
  Graph graph;
  const ValueId x = Add(graph, "x", "F", {});
  const ValueId y = Add(graph, "y", "InPlace", {x});
  Add(graph, "z", "F", {x, y});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_NE(plan.buffer_of[x], plan.buffer_of[y]);
}

// Kernels and collectives run beside each other: x is known to be read only
// once the other kind was waited for.
TEST(CompileTest, AnInPlaceOpSparesWhatACollectiveMayStillRead) {
  for (const bool waits : {false, true}) {
    Graph graph;
    const ValueId x = Add(graph, "x", "F", {});
    const ValueId sum = Add(graph, "sum", "AllReduce", {x});
    const ValueId y = Add(graph, "y", "InPlace", {x});
    if (waits) {
      graph.AddControlEdge(graph.value(sum).producer, graph.value(y).producer);
    }
    Add(graph, "z", "F", {sum, y});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
    EXPECT_EQ(plan.buffer_of[x] == plan.buffer_of[y], waits);
    EXPECT_NE(plan.buffer_of[x], plan.buffer_of[sum]);
    EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  }
}

TEST(CompileTest, ACollectiveSparesWhatAKernelMayStillRead) {
  for (const bool waits : {false, true}) {
    Graph graph;
    const ValueId x = Add(graph, "x", "F", {});
    const ValueId read = Add(graph, "read", "F", {x});
    const ValueId y = Add(graph, "y", "AllReduce", {x});
    if (waits) {
      graph.AddControlEdge(graph.value(read).producer, graph.value(y).producer);
    }
    Add(graph, "z", "F", {read, y});
    Schedule schedule = {.order = {NodeId(0), NodeId(1), NodeId(2), NodeId(3)}};
    SetSteps(graph.num_nodes(), schedule);
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         CompilePlan(graph, ToyOps(), schedule, {}));
    EXPECT_EQ(plan.buffer_of[x] == plan.buffer_of[y], waits);
    EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  }
}

TEST(CompileTest, AnInPlaceOpSparesAnInputThatIsReadLaterThroughAnAlias) {
  Graph graph;
  const ValueId x = Add(graph, "x", "F", {});
  const ValueId alias = Add(graph, "alias", "Alias", {x});
  const ValueId y = Add(graph, "y", "InPlace", {x});
  Add(graph, "z", "F", {alias, y});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_EQ(plan.buffer_of[x], plan.buffer_of[alias]);
  EXPECT_NE(plan.buffer_of[x], plan.buffer_of[y]);
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
}

TEST(CompileTest, VariablesLieBelowEverythingAndUpdatesShareTheirBytes) {
  Graph graph;
  const TensorType type{.dtype = DType::kFloat32, .shape = {64}};
  const NodeId w = graph.AddNode(
      {.name = "w", .op = std::string(kVariable), .outputs = {type}});
  const NodeId g = graph.AddNode(
      {.name = "g", .op = "F", .inputs = {graph.output(w)}, .outputs = {type}});
  const NodeId update =
      graph.AddNode({.name = "update",
                     .op = "Update",
                     .inputs = {graph.output(w), graph.output(g)},
                     .outputs = {type}});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  EXPECT_EQ(plan.resident_bytes, 256);
  EXPECT_EQ(plan.device_bytes, 512);
  EXPECT_EQ(plan.buffer_of[graph.output(w)],
            plan.buffer_of[graph.output(update)]);
}

TEST(CompileTest, WorkspacesAreScratchOfOneStep) {
  const Graph graph = ChainGraph(2, 1_KiB, false);
  CompileOptions options;
  options.workspace_bytes = IdMap<NodeId, int64_t>(graph.num_nodes(), 10_KiB);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph, options));
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  EXPECT_EQ(plan.device_bytes, 13_KiB);
}

TEST(CompileTest, TheSameInputGivesTheSamePlan) {
  const Graph graph = ChainGraph(10, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan a, Compile(graph));
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan b, Compile(graph));
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (const BufferId buffer : a.buffers.ids()) {
    EXPECT_EQ(a.buffers[buffer].offset, b.buffers[buffer].offset);
  }
}

}  // namespace
}  // namespace spillway

#include "graph/order/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graphs.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::AddPlanNode;
using ::spillway::testing::ChainGraph;
using ::spillway::testing::DiamondGraph;
using ::spillway::testing::IsOk;
using ::spillway::testing::RandomTrainingGraph;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testing::kInvalid;

std::vector<std::string> Names(const Graph& graph, const Schedule& schedule) {
  std::vector<std::string> names;
  for (const NodeId id : schedule.order) names.push_back(graph.node(id).name);
  return names;
}

std::vector<int32_t> ToVector(const IdMap<NodeId, int32_t>& levels) {
  return {levels.begin(), levels.end()};
}

// Random ops, including resident, swapping and overwriting ones, and random
// edges; ids are shuffled, so edges also go from higher to lower ids.
Graph RandomDag(uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string_view ops[] = {kVariable, kSwapOut, kSwapIn, kAllReduce,
                                  "Assign",  "Plan",   "Plan"};
  const size_t num_nodes = 1 + random() % 60;
  Graph graph;
  std::vector<NodeId> topological;
  for (size_t i = 0; i < num_nodes; ++i) {
    topological.push_back(AddPlanNode(graph, fmt::format("n{}", i),
                                      ops[random() % std::size(ops)], {}));
  }
  std::ranges::shuffle(topological, random);
  for (size_t i = 1; i < num_nodes; ++i) {
    std::vector<ValueId> inputs;
    for (uint64_t edge = random() % 3; edge > 0; --edge) {
      inputs.push_back(graph.output(topological[random() % i]));
    }
    graph.SetInputs(topological[i], inputs);
    for (uint64_t edge = random() % 3; edge > 0; --edge) {
      graph.AddControlEdge(topological[random() % i], topological[i]);
    }
  }
  return graph;
}

int NaiveRank(const Node& node) {
  if (node.op == kVariable) return 0;
  if (node.op == kSwapOut) return 1;
  if (node.op == kSwapIn) return 2;
  if (node.op == kAllReduce) return 3;
  return node.op == "Assign" ? 4 : 5;
}

// Repeatedly searches all nodes for the best one that can run.
std::vector<NodeId> NaiveOrder(const Graph& graph,
                               const IdMap<NodeId, bool>& keep) {
  std::vector<NodeId> order;
  std::set<NodeId> done;
  for (bool progress = true; progress;) {
    progress = false;
    std::pair<int, NodeId> best = {6, NodeId()};
    for (const Node& node : graph.nodes()) {
      if (done.contains(node.id) || !keep[node.id]) continue;
      bool is_ready = true;
      ForEachPredecessor(graph, node.id, [&](NodeId before) {
        is_ready = is_ready && done.contains(before);
      });
      if (is_ready) best = std::min(best, {NaiveRank(node), node.id});
    }
    if (best.second.is_valid()) {
      progress = true;
      done.insert(best.second);
      order.push_back(best.second);
    }
  }
  return order;
}

int32_t NaiveLevel(const Graph& graph, NodeId id) {
  int32_t level = 0;
  ForEachPredecessor(graph, id, [&](NodeId before) {
    level = std::max(level, NaiveLevel(graph, before) + 1);
  });
  return level;
}

bool NaiveReaches(const Graph& graph, NodeId from, NodeId to) {
  if (from == to) return true;
  bool reaches = false;
  ForEachPredecessor(graph, to, [&](NodeId before) {
    reaches = reaches || NaiveReaches(graph, from, before);
  });
  return reaches;
}

TEST(MakeScheduleTest, EqualsTheNaiveOrderOnRandomGraphs) {
  const OpRegistry registry = ScalarOps();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomDag(seed);
    ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                         MakeSchedule(graph, registry, {}));
    const IdMap<NodeId, bool> all(graph.num_nodes(), true);
    ASSERT_EQ(schedule.order, NaiveOrder(graph, all)) << "seed " << seed;
    ASSERT_EQ(schedule.order.size(), graph.num_nodes()) << "seed " << seed;
    for (size_t step = 0; step < schedule.order.size(); ++step) {
      ASSERT_EQ(schedule.step_of[schedule.order[step]],
                static_cast<int32_t>(step));
    }
  }
}

TEST(MakeScheduleTest, EqualsTheNaiveOrderOnSelectedNodes) {
  const OpRegistry registry = ScalarOps();
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomDag(seed);
    const ValueId fetch(seed % graph.num_values());
    const IdMap<NodeId, bool> keep =
        NodesToRun(graph, registry, std::vector<ValueId>{fetch});
    ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                         MakeSchedule(graph, registry, keep));
    ASSERT_EQ(schedule.order, NaiveOrder(graph, keep)) << "seed " << seed;
    for (const Node& node : graph.nodes()) {
      ASSERT_EQ(schedule.contains(node.id), keep[node.id]) << "seed " << seed;
    }
  }
}

TEST(MakeScheduleTest, CopiesAndCollectivesGoFirst) {
  Graph graph = ChainGraph(2);
  AddPlanNode(graph, "sum", kAllReduce, {"F1"});
  AddPlanNode(graph, "in", "SwapIn", {"F1"});
  AddPlanNode(graph, "out", "SwapOut", {"F1"});
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, OpRegistry(), {}));
  EXPECT_THAT(
      Names(graph, schedule),
      ElementsAre("F1", "out", "in", "sum", "F2", "opt/B2", "opt/B1", "opt/U"));
}

TEST(MakeScheduleTest, AnEmptyGraphHasAnEmptySchedule) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(Graph(), OpRegistry(), {}));
  EXPECT_TRUE(schedule.order.empty());
}

TEST(MakeScheduleTest, CyclesAreListed) {
  Graph graph = ChainGraph();
  graph.AddControlEdge(NodeId(4), NodeId(1));
  const auto names_the_cycle =
      StatusIs(kInvalid, HasSubstr("cycle: F2 -> F3 -> F4 -> opt/B4 -> F2"));
  EXPECT_THAT(MakeSchedule(graph, OpRegistry(), {}), names_the_cycle);
  EXPECT_THAT(Levels(graph), names_the_cycle);
}

TEST(MakeScheduleTest, ACycleOutsideOfTheKeptNodesDoesNoHarm) {
  Graph graph = ChainGraph();
  graph.AddControlEdge(NodeId(8), NodeId(7));
  const IdMap<NodeId, bool> keep = NodesToRun(
      graph, OpRegistry(), std::vector<ValueId>{graph.output(NodeId(5))});
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, OpRegistry(), keep));
  EXPECT_EQ(schedule.order.size(), 6);
  graph.AddControlEdge(NodeId(4), NodeId(1));
  EXPECT_THAT(MakeSchedule(graph, OpRegistry(), keep),
              StatusIs(kInvalid, HasSubstr("F2 -> F3 -> F4 -> opt/B4 -> F2")));
}

TEST(MakeScheduleTest, ANodeNeedsWhatComesBeforeIt) {
  const Graph graph = ChainGraph();
  IdMap<NodeId, bool> keep(graph.num_nodes(), true);
  keep[NodeId(2)] = false;
  EXPECT_THAT(
      MakeSchedule(graph, OpRegistry(), keep),
      StatusIs(kInvalid, HasSubstr("F4 cannot be scheduled without F3")));
}

TEST(NodesToRunTest, TakesWhatFetchesReachAndWhatOverwritesVariables) {
  const OpRegistry registry = ScalarOps();
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomDag(seed);
    const std::vector<ValueId> fetches = {ValueId(seed % graph.num_values())};
    const IdMap<NodeId, bool> keep = NodesToRun(graph, registry, fetches);
    for (const Node& node : graph.nodes()) {
      bool expected =
          NaiveReaches(graph, node.id, graph.value(fetches.front()).producer);
      for (const Node& other : graph.nodes()) {
        expected = expected || (other.op == "Assign" &&
                                NaiveReaches(graph, node.id, other.id));
      }
      ASSERT_EQ(keep[node.id], expected) << "seed " << seed << " " << node.name;
    }
  }
}

TEST(NodesToRunTest, WithNothingToGoByTakesEveryNode) {
  const Graph graph = ChainGraph();
  EXPECT_EQ(NodesToRun(graph, OpRegistry(), {}),
            (IdMap<NodeId, bool>(9, true)));
}

// `order` with step_of set, as CheckSchedule's callers pass it.
Schedule ToSchedule(const Graph& graph, const std::vector<NodeId>& order) {
  Schedule schedule = {.order = order};
  schedule.step_of.resize(graph.num_nodes(), -1);
  for (size_t step = 0; step < order.size(); ++step) {
    if (order[step].index() >= graph.num_nodes()) continue;
    schedule.step_of[order[step]] = static_cast<int32_t>(step);
  }
  return schedule;
}

TEST(CheckScheduleTest, TellsWhatIsWrong) {
  const Graph graph = ChainGraph(2);  // F1, F2, opt/B2, opt/B1, opt/U
  std::vector<NodeId> order;
  for (const Node& node : graph.nodes()) order.push_back(node.id);
  const auto check = [&](const std::vector<NodeId>& changed,
                         const IdMap<NodeId, bool>& keep = {}) {
    return CheckSchedule(graph, keep, ToSchedule(graph, changed));
  };
  EXPECT_THAT(check(order), IsOk());
  EXPECT_THAT(check({}), StatusIs(kInvalid, HasSubstr("lacks F1")));
  EXPECT_THAT(check({order.begin(), order.end() - 1}),
              StatusIs(kInvalid, HasSubstr("lacks opt/U")));
  std::vector<NodeId> changed = order;
  changed.push_back(order[1]);
  EXPECT_THAT(check(changed),
              StatusIs(kInvalid, HasSubstr("F2, which it had before")));
  changed = order;
  std::swap(changed[2], changed[3]);
  EXPECT_THAT(check(changed),
              StatusIs(kInvalid, HasSubstr("opt/B1 before something")));
  changed = order;
  changed[4] = NodeId(5);
  EXPECT_THAT(check(changed),
              StatusIs(kInvalid, HasSubstr("node 5, but the graph has 5")));
  changed[4] = NodeId();
  EXPECT_THAT(check(changed), StatusIs(kInvalid, HasSubstr("the graph has 5")));
  IdMap<NodeId, bool> keep(graph.num_nodes(), true);
  keep[order[4]] = false;
  EXPECT_THAT(check(order, keep),
              StatusIs(kInvalid, HasSubstr("opt/U, which is not part")));
  EXPECT_THAT(check({order.begin(), order.end() - 1}, keep), IsOk());
}

TEST(CheckScheduleTest, AControlEdgeCounts) {
  Graph graph;
  const NodeId a = AddPlanNode(graph, "a", "Plan", {});
  const NodeId b = AddPlanNode(graph, "b", "Plan", {});
  EXPECT_THAT(CheckSchedule(graph, {}, ToSchedule(graph, {a, b})), IsOk());
  graph.AddControlEdge(b, a);
  EXPECT_THAT(CheckSchedule(graph, {}, ToSchedule(graph, {b, a})), IsOk());
  EXPECT_THAT(CheckSchedule(graph, {}, ToSchedule(graph, {a, b})),
              StatusIs(kInvalid, HasSubstr("the order has a before")));
}

// Whether every kept node occurs once, and each node comes after all nodes that
// it needs.
bool IsNaivelyGood(const Graph& graph, const IdMap<NodeId, bool>& keep,
                   const std::vector<NodeId>& order) {
  for (const Node& node : graph.nodes()) {
    const auto times = std::ranges::count(order, node.id);
    if (times != (keep[node.id] ? 1 : 0)) return false;
  }
  for (const Node& node : graph.nodes()) {
    if (!keep[node.id]) continue;
    bool is_good = true;
    ForEachPredecessor(graph, node.id, [&](NodeId before) {
      is_good = is_good && std::ranges::find(order, before) <
                               std::ranges::find(order, node.id);
    });
    if (!is_good) return false;
  }
  return true;
}

TEST(CheckScheduleTest, EqualsTheNaiveCheckOnChangedOrders) {
  const OpRegistry registry = ScalarOps();
  int good = 0;
  int bad = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = RandomDag(seed);
    const std::vector<ValueId> fetches = {ValueId(seed % graph.num_values())};
    const IdMap<NodeId, bool> keep =
        seed % 2 == 0 ? IdMap<NodeId, bool>(graph.num_nodes(), true)
                      : NodesToRun(graph, registry, fetches);
    ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                         MakeSchedule(graph, registry, keep));
    std::vector<NodeId> order = schedule.order;
    const auto any = [&] { return random() % order.size(); };
    for (uint64_t change = random() % 4; change > 0; --change) {
      std::swap(order[any()], order[any()]);
    }
    if (random() % 8 == 0) std::ranges::shuffle(order, random);
    if (random() % 8 == 0) order[any()] = order[any()];
    if (random() % 8 == 0) order[any()] = NodeId(random() % graph.num_nodes());
    if (random() % 8 == 0 && order.size() > 1) order.pop_back();
    const bool expected = IsNaivelyGood(graph, keep, order);
    ++(expected ? good : bad);
    const absl::Status status =
        CheckSchedule(graph, keep, ToSchedule(graph, order));
    ASSERT_EQ(status.ok(), expected) << "seed " << seed << " " << status;
  }
  EXPECT_GT(good, 50);
  EXPECT_GT(bad, 50);
}

TEST(LevelsTest, AreThoseOfTheWorkedExample) {
  const Graph graph = ChainGraph();
  ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
  EXPECT_THAT(ToVector(levels), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(LevelsTest, TakeTheLongestWay) {
  Graph graph = DiamondGraph();
  ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
  //                              A  B  C  D  gD gB gC gA U
  EXPECT_THAT(ToVector(levels), ElementsAre(0, 1, 1, 2, 3, 4, 4, 5, 6));
  // A control edge counts as an edge.
  graph.AddControlEdge(NodeId(5), NodeId(6));
  ASSERT_OK_AND_ASSIGN(const auto longer, Levels(graph));
  EXPECT_THAT(ToVector(longer), ElementsAre(0, 1, 1, 2, 3, 4, 5, 6, 7));
}

TEST(LevelsTest, EqualTheNaiveRecursionOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph =
        seed % 2 == 0 ? RandomDag(seed)
                      : RandomTrainingGraph({.seed = seed, .forward_nodes = 6});
    ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
    for (const Node& node : graph.nodes()) {
      ASSERT_EQ(levels[node.id], NaiveLevel(graph, node.id))
          << "seed " << seed << " " << node.name;
    }
  }
}

// By its id, the clone would run last, and r with it.
TEST(MakeScheduleTest, ACloneRunsRightBeforeItsFirstReader) {
  Graph graph;
  AddPlanNode(graph, "a", "Plan", {});
  AddPlanNode(graph, "trigger", "Plan", {"a"});
  const NodeId r = AddPlanNode(graph, "r", "Plan", {});
  AddPlanNode(graph, "later", "Plan", {"trigger"});
  AddPlanNode(graph, "last", "Plan", {"later"});
  for (const auto& [clone, input] :
       {std::pair("lms/recompute_a", "a"),
        std::pair("lms/recompute_b", "lms/recompute_a")}) {
    graph.AddControlEdge(*graph.FindNode("trigger"),
                         AddPlanNode(graph, clone, "Plan", {input}));
  }
  graph.SetInputs(r, std::vector{*graph.FindValue("trigger"),
                                 *graph.FindValue("lms/recompute_b")});
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, ScalarOps(), {}));
  EXPECT_THAT(Names(graph, schedule),
              ElementsAre("a", "trigger", "lms/recompute_a", "lms/recompute_b",
                          "r", "later", "last"));
}

TEST(OrderByLevelTest, IsByLevelThenById) {
  Graph graph;
  const NodeId a = AddPlanNode(graph, "a", "Plan", {});
  const NodeId b = AddPlanNode(graph, "b", "Plan", {"a"});
  const NodeId c = AddPlanNode(graph, "c", "Plan", {});
  const NodeId d = AddPlanNode(graph, "d", "Plan", {"b"});
  const NodeId e = AddPlanNode(graph, "e", "Plan", {"c"});
  ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
  EXPECT_THAT(OrderByLevel(levels), ElementsAre(a, c, b, e, d));
}

}  // namespace
}  // namespace spillway

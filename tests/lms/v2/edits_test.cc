// Properties of every edit of version 2: proven equivalent, acyclic, no swap-in
// without a trigger or a gap, and plans that run.
#include <algorithm>
#include <random>

#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "graph/format/json_format.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RandomTrainingGraph;
using testing::StatusIs;

LmsOptions RandomV2Options(std::mt19937& random) {
  const auto up_to = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  LmsOptions options{.mode = LmsMode::kV2};
  options.v2.swapout_threshold = 1 + up_to(5);
  options.v2.swapin_ahead = 1 + up_to(5);
  options.v2.swapin_groupby = up_to(2) * up_to(6);
  options.v2.sync_mode = up_to(4);
  options.size_threshold_bytes = up_to(3) == 0 ? up_to(4096) : 0;
  if (up_to(3) == 0) options.v2.serialization = {"2:8", "-4"};
  if (up_to(4) == 0) options.v2.serialization_by_size_gib = 1e-5;
  return options;
}

bool IsAlias(const Node& node) {
  return node.op == "Identity" || node.op == "Reshape";
}

// Nodes that read the bytes of `value` under any name. An alias counts if
// another node waits for it, or if no node reads it.
std::vector<NodeId> ReadersOfBytes(const Graph& graph, ValueId value) {
  std::vector<NodeId> readers;
  std::vector<ValueId> names = {value};
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Use& use : graph.uses(names[i])) {
      const Node& reader = graph.node(use.node);
      const bool is_alias = IsAlias(reader);
      if (is_alias) names.push_back(reader.outputs[0]);
      if (!is_alias || graph.uses(reader.outputs[0]).empty() ||
          !graph.control_outputs(reader.id).empty()) {
        readers.push_back(reader.id);
      }
    }
  }
  return readers;
}

// RandomTrainingGraph with some of its nodes on the host and some control
// edges. Every edge goes to a node with a higher id.
Graph RandomGraph(uint32_t seed, std::mt19937& random) {
  const Graph plain =
      RandomTrainingGraph({.seed = seed,
                           .forward_nodes = 5 + static_cast<int>(random() % 20),
                           .alias_probability = random() % 2 == 0 ? 0.3 : 0});
  Graph graph("random");
  for (const Node& node : plain.nodes()) {
    NodeSpec spec{.name = node.name,
                  .op = node.op,
                  .inputs = node.inputs,
                  .attributes = node.attributes};
    for (const ValueId output : node.outputs) {
      spec.outputs.push_back(plain.type(output));
    }
    const bool real =
        node.op == kVariable || node.op == kPlaceholder || IsAlias(node);
    if (!real && random() % 10 == 0) spec.placement = Placement::kHost;
    if (!real && random() % 8 == 0) {
      spec.control_inputs.push_back(
          NodeId(static_cast<size_t>(random()) % node.id.index()));
    }
    graph.AddNode(spec);
  }
  return graph;
}

// Levels are those of the graph with the chains of serialized levels. (Other
// new orders, between host nodes, may shift them.)
void ExpectEverySwapInHasItsGap(const SwapPlan& plan, const Graph& original) {
  Graph graph = original;
  for (const AddedOrder& order : plan.orders) {
    const bool chained =
        graph.node(order.before).placement == Placement::kDevice &&
        graph.node(order.after).placement == Placement::kDevice;
    if (chained) graph.AddControlEdge(order.before, order.after);
  }
  ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
  for (const Swap& swap : plan.swaps) {
    int32_t stays_until = levels[graph.value(swap.value).producer];
    std::vector<NodeId> moved;
    for (const SwapIn& swap_in : swap.swap_ins) {
      moved.insert(moved.end(), swap_in.readers.begin(), swap_in.readers.end());
    }
    for (const NodeId reader : ReadersOfBytes(graph, swap.value)) {
      if (std::ranges::find(moved, reader) == moved.end()) {
        stays_until = std::max(stays_until, levels[reader]);
      }
    }
    for (const SwapIn& swap_in : swap.swap_ins) {
      int32_t start = -1;
      for (const NodeId trigger : swap_in.triggers) {
        start = std::max(start, levels[trigger]);
        EXPECT_EQ(graph.node(trigger).placement, Placement::kDevice);
        EXPECT_NE(graph.node(trigger).op, kVariable);
        EXPECT_FALSE(IsAlias(graph.node(trigger)));
      }
      EXPECT_GT(start, stays_until);
      for (const NodeId reader : swap_in.readers) {
        EXPECT_LT(start, levels[reader]);
      }
    }
  }
}

int64_t CountAddedAliases(const SwapPlan& plan) {
  size_t count = 0;
  for (const Swap& swap : plan.swaps) {
    for (const SwapIn& swap_in : swap.swap_ins) count += swap_in.aliases.size();
  }
  return static_cast<int64_t>(count);
}

TEST(LmsV2Test, RandomEditsAreSoundAndTheirPlansValid) {
  int64_t swaps = 0;
  int64_t aliases = 0;
  const OpRegistry ops;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Graph original = RandomGraph(seed, random);
    LmsOptions options = RandomV2Options(random);
    options.compat = seed % 4 == 0;
    Graph edited = original;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, original));
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, edited));
    const int64_t added_aliases = CountAddedAliases(plan);
    EXPECT_EQ(report.added_ops,
              report.swap_outs + report.swap_ins + added_aliases);
    aliases += added_aliases;
    ASSERT_THAT(Levels(edited), IsOk());
    if (!options.compat) ExpectEverySwapInHasItsGap(plan, original);
    swaps += report.swap_outs;
    ASSERT_OK_AND_ASSIGN(
        const Schedule schedule,
        MakeSchedule(edited, ops, NodesToRun(edited, ops, {})));
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan least,
                         CompilePlan(edited, ops, schedule, {}));
    EXPECT_THAT(VerifyPlan(least, edited, ops), IsOk());
  }
  EXPECT_GT(swaps, 400);
  EXPECT_GT(aliases, 100);
}

TEST(LmsV2Test, AnEditedGraphIsNotEditedAgain) {
  Graph graph = ChainE1();
  const LmsOptions options{
      .mode = LmsMode::kV2,
      .v2 = {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0}};
  ASSERT_THAT(ApplyLms(options, graph), IsOk());
  const std::string before = FormatGraph(graph);
  EXPECT_THAT(ApplyLms(options, graph),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("edited for LMS already")));
  EXPECT_EQ(FormatGraph(graph), before);
}

}  // namespace
}  // namespace spillway

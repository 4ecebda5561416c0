// Compares version 1 with lms_compat with a naive twin of the original, on
// random graphs with random options: the edges are equal, or one of the
// original's choices if these are arbitrary.
#include <algorithm>
#include <random>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "graph/format/json_format.h"
#include "gtest/gtest.h"
#include "lms/lms.h"
#include "lms/v1/orders.h"
#include "lms/v1/plan_swaps.h"
#include "tests/lms/v1/naive_v1.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::EditAsOriginal;
using ::testing::HasSubstr;
using testing::LeastCases;
using testing::NaiveEdit;
using testing::NaiveSwap;
using testing::NumCases;
using testing::RandomTrainingGraph;
using testing::StatusIs;

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(
        Below(static_cast<int64_t>(items.size())))];
  }

 private:
  std::mt19937_64 random_;
};

// Gradient nodes among forward nodes, several outputs, repeated reads of one
// value, control edges, conditional branches, forward nodes behind gradients,
// vectors, nodes on the host.
Graph WildGraph(Dice& dice, int64_t most_nodes) {
  Graph graph("wild");
  const TensorType matrix{.dtype = DType::kFloat32, .shape = {4, 4}};
  const TensorType vector{.dtype = DType::kFloat32, .shape = {4}};
  const std::vector<std::string> forward = {"a/", "b/", "b/cond/", "net/"};
  const std::vector<std::string> backward = {"opt/", "opt/cond/", "optimizer/"};
  const std::vector<std::string> ops = {"Op",   "Op",  "Op",
                                        "Conv", "Mul", "Variable"};
  std::vector<ValueId> values;
  const int64_t size = 4 + dice.Below(most_nodes - 3);
  const int64_t waits = 2 + dice.Below(6);  // one node in so many waits
  for (int64_t i = 0; i < size; ++i) {
    const bool is_gradient = i > 2 && dice.Below(size) < i;
    NodeSpec spec = {
        .name = fmt::format("{}n{}",
                            dice.Pick(is_gradient ? backward : forward), i),
        .op = dice.Pick(ops)};
    for (int64_t n = values.empty() || dice.OneIn(6) ? 0 : 1 + dice.Below(3);
         n > 0; --n) {
      const auto back = std::min<size_t>(
          values.size() - 1,
          static_cast<size_t>(dice.Below(dice.OneIn(3) ? size * 2 : 4)));
      spec.inputs.push_back(values[values.size() - 1 - back]);
    }
    for (int64_t n = i > 0 && dice.OneIn(waits) ? 1 + dice.Below(2) : 0; n > 0;
         --n) {
      spec.control_inputs.emplace_back(static_cast<size_t>(dice.Below(i)));
    }
    spec.outputs.resize(dice.OneIn(5) ? 2 : 1, dice.OneIn(4) ? vector : matrix);
    if (dice.OneIn(10)) spec.placement = Placement::kHost;
    const NodeId id = graph.AddNode(spec);
    for (const ValueId output : graph.node(id).outputs) {
      values.push_back(output);
    }
  }
  return graph;
}

std::string RandomName(const Graph& graph, Dice& dice) {
  const auto i =
      static_cast<size_t>(dice.Below(static_cast<int64_t>(graph.num_nodes())));
  return graph.node(NodeId(i)).name;
}

std::string RandomScope(const Graph& graph, Dice& dice) {
  const std::string name = RandomName(graph, dice);
  return dice.OneIn(2) ? name : name.substr(0, name.find('/'));
}

LmsOptions RandomOptions(const Graph& graph, Dice& dice) {
  LmsOptions options = {.mode = LmsMode::kV1,
                        .compat = true,
                        .v1 = {.optimizer_scopes = {"opt"}}};
  options.v1.ctrld_strategy = dice.OneIn(2) ? ControlStrategy::kChainRule
                                            : ControlStrategy::kDirectOrder;
  if (dice.OneIn(2)) options.v1.lb = dice.Below(6);
  if (dice.OneIn(3)) options.v1.ub = dice.Below(10);
  if (dice.OneIn(3)) options.v1.n_tensors = 1 + dice.Below(5);
  options.v1.fuse_swapins = dice.OneIn(3);
  options.v1.swap_branches = dice.OneIn(3);
  options.v1.branch_threshold = dice.Below(3);
  if (dice.OneIn(5)) options.v1.starting_scope = RandomScope(graph, dice);
  if (dice.OneIn(5)) options.v1.starting_op_names = {RandomName(graph, dice)};
  if (dice.OneIn(5)) options.v1.excl_scopes = {RandomScope(graph, dice)};
  if (dice.OneIn(5)) options.v1.incl_scopes = {RandomScope(graph, dice)};
  if (dice.OneIn(5)) options.v1.excl_types = {"Conv"};
  if (dice.OneIn(8)) options.v1.incl_types = {"Conv", "Op"};
  return options;
}

void ExpectSameOrders(const LmsOptions& options, const Graph& graph,
                      const NaiveEdit& expected) {
  ASSERT_OK_AND_ASSIGN(
      const V1Orders orders,
      FindV1Orders(options, StorageMap::WithoutAliases(graph), graph));
  std::set<std::string> seeds;
  for (const NodeId seed : orders.seeds) seeds.insert(graph.node(seed).name);
  EXPECT_EQ(seeds, expected.seeds);
  EXPECT_EQ(orders.backward_start, expected.backward_start);
  for (const Node& node : graph.nodes()) {
    const auto found = expected.orders.find(node.name);
    EXPECT_EQ(orders.order[node.id],
              found == expected.orders.end() ? -1 : found->second)
        << node.name;
  }
}

void ExpectSameSwap(const Graph& graph, const Swap& swap,
                    const NaiveSwap& expected) {
  EXPECT_EQ(graph.ValueName(swap.value), expected.tensor);
  ASSERT_EQ(swap.swap_ins.size(), expected.swap_ins.size());
  for (size_t i = 0; i < swap.swap_ins.size(); ++i) {
    std::set<std::string> readers;
    for (const NodeId reader : swap.swap_ins[i].readers) {
      readers.insert(graph.node(reader).name);
    }
    EXPECT_EQ(readers, expected.swap_ins[i].readers);
    const std::vector<NodeId>& triggers = swap.swap_ins[i].triggers;
    ASSERT_EQ(triggers.empty(), expected.swap_ins[i].triggers.empty());
    if (triggers.empty()) continue;
    EXPECT_EQ(triggers.size(), 1u);
    const std::string& trigger = graph.node(triggers[0]).name;
    EXPECT_TRUE(expected.swap_ins[i].triggers.contains(trigger)) << trigger;
    EXPECT_EQ(trigger, expected.swap_ins[i].latest_trigger);
  }
}

// Counts that show that the cases are not all empty.
struct Tally {
  int swaps = 0;
  int triggers = 0;
  int choices = 0;  // triggers with ties
  int shared = 0;   // swap-ins with several readers
};

void Count(const NaiveEdit& edit, Tally& tally) {
  for (const NaiveSwap& swap : edit.swaps) {
    ++tally.swaps;
    for (const auto& swap_in : swap.swap_ins) {
      tally.triggers += swap_in.triggers.empty() ? 0 : 1;
      tally.choices += swap_in.triggers.size() > 1 ? 1 : 0;
      tally.shared += swap_in.readers.size() > 1 ? 1 : 0;
    }
  }
}

void ExpectAsOriginal(const LmsOptions& options, const Graph& graph,
                      Tally& tally) {
  const absl::StatusOr<SwapPlan> plan =
      PlanSwaps(options, StandardOps(), graph);
  // Unlike the original, ours reports if all inclusions together have no
  // effect.
  if (!plan.ok() &&
      plan.status().message().find("lms_incl_") != std::string::npos)
    return;
  const bool has_gradients = std::ranges::any_of(
      graph.nodes(),
      [](const Node& node) { return node.name.starts_with("opt"); });
  if (!has_gradients) {
    EXPECT_THAT(plan, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("optimizer scope")));
    return;
  }
  const NaiveEdit expected = EditAsOriginal(options, graph);
  Count(expected, tally);
  if (expected.has_cycle) {
    EXPECT_THAT(plan, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("cycle")));
    return;
  }
  ASSERT_THAT(plan, testing::IsOk());
  ExpectSameOrders(options, graph, expected);
  ASSERT_EQ(plan->swaps.size(), expected.swaps.size());
  for (size_t i = 0; i < plan->swaps.size(); ++i) {
    ExpectSameSwap(graph, plan->swaps[i], expected.swaps[i]);
  }
  Graph edited = graph;
  EXPECT_THAT(ApplyLms(options, edited), testing::IsOk());
}

TEST(V1TwinTest, WildGraphsAreEditedAsTheOriginalDoes) {
  Tally tally;
  for (uint32_t seed = 0; seed < NumCases(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Dice dice(seed);
    const Graph graph = WildGraph(dice, 30);
    ExpectAsOriginal(RandomOptions(graph, dice), graph, tally);
  }
  EXPECT_GT(tally.swaps, LeastCases(1000));
  EXPECT_GT(tally.triggers, LeastCases(500));
  EXPECT_GT(tally.choices, LeastCases(20));
  EXPECT_GT(tally.shared, LeastCases(50));
}

TEST(V1TwinTest, TrainingGraphsAreEditedAsTheOriginalDoes) {
  Tally tally;
  for (uint32_t seed = 0; seed < NumCases(300) && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Dice dice(seed);
    const Graph graph = RandomTrainingGraph(
        {.seed = seed,
         .forward_nodes = static_cast<int>(3 + dice.Below(12)),
         .branch_probability = dice.OneIn(2) ? 0.0 : 0.3,
         .alias_probability = dice.OneIn(2) ? 0.0 : 0.3});
    ExpectAsOriginal(RandomOptions(graph, dice), graph, tally);
  }
  EXPECT_GT(tally.swaps, LeastCases(300));
  EXPECT_GT(tally.shared, LeastCases(20));
}

// Without compat the edit may differ from the original's, but must be valid.
TEST(V1TwinTest, WithoutCompatWildGraphsAreEditedSoundly) {
  int swaps = 0;
  for (uint32_t seed = 0; seed < NumCases(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Dice dice(seed);
    Graph graph = WildGraph(dice, 100);
    LmsOptions options = RandomOptions(graph, dice);
    options.compat = false;
    options.v1.optimizer_scopes = {"opt", "optimizer"};
    options.v1.ub = std::max(options.v1.ub, options.v1.lb + 2);
    if (dice.OneIn(3)) options.size_threshold_bytes = 32;
    const std::string before = FormatGraph(graph);
    const auto report = ApplyLms(options, graph);
    if (!report.ok()) {
      EXPECT_EQ(FormatGraph(graph), before);
      EXPECT_THAT(report, StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("lms_")));
      continue;
    }
    swaps += static_cast<int>(report->swap_tensors);
  }
  EXPECT_GT(swaps, LeastCases(100));
}

}  // namespace
}  // namespace spillway

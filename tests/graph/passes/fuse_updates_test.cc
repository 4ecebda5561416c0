#include "graph/passes/fuse_updates.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "fmt/format.h"
#include "graph/input_groups.h"
#include "graph/order/schedule.h"
#include "graph/verify.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::GraphText;

constexpr Pass kUpdatesPass = {"fuse", "", FuseUpdates};

class FuseUpdatesTest : public ::testing::Test {
 protected:
  Tensor Variable(const std::string& name, const Shape& shape) {
    return g_.Add(g_,
                  {.op = "Variable",
                   .attributes = {{"dtype", DType::kFloat32}, {"shape", shape}},
                   .name = name});
  }

  // An update of a new variable by a gradient that is fed.
  Tensor Update(const std::string& name, const Shape& shape,
                std::vector<Tensor> after = {}, Attributes attributes = {}) {
    if (!rate_.is_valid()) {
      rate_ = g_.Placeholder("rate", DType::kFloat32, {});
    }
    return g_.Add(
        g_.Scope(name),
        {.op = "ApplyGradientDescent",
         .inputs = {Variable(name, shape),
                    g_.Placeholder("g_" + name, DType::kFloat32, shape), rate_},
         .attributes = std::move(attributes),
         .control_inputs = std::move(after)});
  }

  OptimizedGraph Optimize(const std::vector<ValueId>& keep = {}) {
    auto result =
        RunPasses(g_.graph(), g_.registry(), std::vector{kUpdatesPass}, keep);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? *std::move(result) : OptimizedGraph();
  }

  // Number of variables of each update, in order.
  static std::vector<int> Groups(const Graph& graph) {
    std::vector<int> groups;
    for (const Node& node : graph.nodes()) {
      const OpDef& def = *StandardOps().Find(node.op);
      if (def.group_inputs == 0) continue;
      groups.push_back(NumGroups(def, node.inputs.size()));
    }
    return groups;
  }

  const std::set<std::string> kOps = {"ApplyGradientDescent", "Relu"};
  GraphBuilder g_{StandardOps()};
  Tensor rate_;
};

TEST_F(FuseUpdatesTest, TheLastOnesPlaceHasTheFirstOnesName) {
  Update("a", {3});
  Relu(g_.Scope("between"), g_.Placeholder("x", DType::kFloat32, {2}));
  Update("b", {2, 5});
  EXPECT_EQ(GraphText(Optimize().graph, kOps),
            "between/Relu = Relu(x)\n"
            "a/ApplyGradientDescent = ApplyGradientDescent(a, g_a, b, g_b, "
            "rate)\n");
}

TEST_F(FuseUpdatesTest, ReadersAndKeptValuesFollowTheirVariable) {
  const Tensor a = Update("a", {3});
  const Tensor b = Update("b", {3});
  Relu(g_.Scope("of_a"), a);
  Relu(g_.Scope("of_b"), b);
  const OptimizedGraph result = Optimize({a.id(), b.id()});
  EXPECT_EQ(GraphText(result.graph, kOps),
            "a/ApplyGradientDescent = ApplyGradientDescent(a, g_a, b, g_b, "
            "rate)\n"
            "of_a/Relu = Relu(a/ApplyGradientDescent)\n"
            "of_b/Relu = Relu(a/ApplyGradientDescent:1)\n");
  EXPECT_EQ(result.graph.value(result.at(a.id())).index, 0);
  EXPECT_EQ(result.graph.value(result.at(b.id())).index, 1);
}

TEST_F(FuseUpdatesTest, ControlEdgesOfAllAreKept) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {2});
  const Tensor before = Relu(g_.Scope("before"), x);
  const Tensor a = Update("a", {3}, {before});
  Update("b", {3});
  g_.Add(g_.Scope("after"),
         {.op = "Relu", .inputs = {x}, .control_inputs = {a}});
  EXPECT_EQ(GraphText(Optimize().graph, kOps),
            "before/Relu = Relu(x)\n"
            "a/ApplyGradientDescent = ApplyGradientDescent(a, g_a, b, g_b, "
            "rate) ^before/Relu\n"
            "after/Relu = Relu(x) ^a/ApplyGradientDescent\n");
}

TEST_F(FuseUpdatesTest, AnUpdateThatRunsAfterAnotherIsLeft) {
  const Tensor a = Update("a", {3});
  const Tensor between =
      g_.Add(g_.Scope("between"),
             {.op = "Relu",
              .inputs = {g_.Placeholder("x", DType::kFloat32, {2})},
              .control_inputs = {a}});
  Update("b", {3}, {between});
  Update("c", {3});
  Update("d", {3}, {a});
  EXPECT_EQ(GraphText(Optimize().graph, kOps),
            "between/Relu = Relu(x) ^a/ApplyGradientDescent\n"
            "b/ApplyGradientDescent = ApplyGradientDescent(b, g_b, rate) "
            "^between/Relu\n"
            "a/ApplyGradientDescent = ApplyGradientDescent(a, g_a, c, g_c, "
            "rate)\n"
            "d/ApplyGradientDescent = ApplyGradientDescent(d, g_d, rate) "
            "^a/ApplyGradientDescent\n");
}

TEST_F(FuseUpdatesTest, OtherAttributesMakeAnotherNode) {
  Update("a", {3});
  Update("b", {3}, {}, {{"weight_decay", 0.1}});
  Update("c", {3});
  Update("d", {3}, {}, {{"weight_decay", 0.1}});
  Update("e", {3}, {}, {{"weight_decay", 0.2}});
  EXPECT_EQ(GraphText(Optimize().graph, kOps),
            "a/ApplyGradientDescent = ApplyGradientDescent(a, g_a, c, g_c, "
            "rate)\n"
            "b/ApplyGradientDescent = ApplyGradientDescent(b, g_b, d, g_d, "
            "rate)\n"
            "e/ApplyGradientDescent = ApplyGradientDescent(e, g_e, rate)\n");
}

TEST_F(FuseUpdatesTest, ALargeVariableIsUpdatedByItself) {
  constexpr int64_t kMost = kMostFusedVariableBytes / 4;
  Update("a", {kMost});
  Update("b", {kMost + 1});
  Update("c", {kMost});
  EXPECT_THAT(Groups(Optimize().graph), ElementsAre(1, 2));
}

TEST_F(FuseUpdatesTest, GradientsOfOneNodeAreBounded) {
  constexpr int64_t kMost = kMostFusedVariableBytes / 4;
  constexpr int kEach = kMostFusedGradientBytes / kMostFusedVariableBytes;
  for (int i = 0; i < 2 * kEach + 3; ++i)
    Update(fmt::format("v{}", i), {kMost});
  EXPECT_THAT(Groups(Optimize().graph), ElementsAre(kEach, kEach, 3));
}

TEST_F(FuseUpdatesTest, AnOptimizersUpdatesBecomeTwoNodes) {
  Tensor x = g_.Placeholder("x", DType::kFloat32, {4, 3});
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    x = Dense(g_.Scope(name), x, {.units = 5});
  }
  const Tensor loss = SparseSoftmaxCrossEntropy(
      g_.Scope("loss"), x, g_.Placeholder("labels", DType::kInt32, {4}));
  Minimize(g_.Scope("adam"), loss, Adam(), {.weight_decay = 0.1});
  EXPECT_THAT(Groups(g_.graph()), ElementsAre(1, 1, 1, 1, 1, 1));
  const OptimizedGraph result = Optimize({loss.id()});
  EXPECT_THAT(Groups(result.graph), ElementsAre(3, 3));  // weights, biases
  EXPECT_THAT(Groups(Optimize({loss.id()}).graph), ElementsAre(3, 3));
}

// Random updates and readers with random forward edges: RunPasses verifies that
// the result has no cycle, whatever is merged.
TEST_F(FuseUpdatesTest, NoEdgesMakeACycle) {
  size_t merged = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    GraphBuilder g(StandardOps());
    const Tensor rate = g.Placeholder("rate", DType::kFloat32, {});
    const Tensor x = g.Placeholder("x", DType::kFloat32, {2});
    std::vector<Tensor> nodes;
    for (uint64_t i = 0; i < 14; ++i) {
      const auto random = Philox4x32(seed, i);
      std::vector<Tensor> after;
      if (!nodes.empty() && random[0] % 3 == 0) {
        after.push_back(nodes[random[1] % nodes.size()]);
      }
      OpSpec spec = {
          .op = "Relu", .inputs = {x}, .name = fmt::format("n{}", i)};
      if (random[2] % 2 == 0) {
        const Tensor variable = g.Add(
            g, {.op = "Variable",
                .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape{2}}},
                .name = fmt::format("v{}", i)});
        spec.op = "ApplyGradientDescent";
        spec.inputs = {variable, x, rate};
      }
      spec.control_inputs = after;
      nodes.push_back(g.Add(g, spec));
    }
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
    ASSERT_OK_AND_ASSIGN(
        const OptimizedGraph result,
        RunPasses(graph, StandardOps(), std::vector{kUpdatesPass}, {}));
    merged += graph.num_nodes() - result.graph.num_nodes();
  }
  EXPECT_GT(merged, 200U);
}

}  // namespace
}  // namespace spillway

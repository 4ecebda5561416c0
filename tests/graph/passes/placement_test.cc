// No pass merges a host node with a device node.
#include <string>
#include <utility>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewrite.h"
#include "graph/passes/standard_passes.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/graph/passes/add_halves.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

// A training step with a match for every pattern.
struct PatternGraph {
  Graph graph = {};
  ValueId loss = {};
};

PatternGraph AllPatterns() {
  GraphBuilder g(StandardOps());
  const Tensor images = g.Placeholder("images", DType::kFloat32, {4, 2, 2, 8});
  Tensor x = Relu(g.Scope("a"), BatchNorm(g.Scope("a"), images, {}));
  x = Relu(g.Scope("b"), Add(g.Scope("b"), BatchNorm(g.Scope("b"), x, {}), x));
  x = Add(g.Scope("k"), Conv2D(g.Scope("k"), x, {.filters = 8}), x);
  x = Dense(g.Scope("c"), Flatten(g.Scope("c"), x),
            {.units = 5, .activation = Activation::kRelu});
  x = ConcatChannels(
      g.Scope("joined"),
      {Relu(g.Scope("h"), x), Activate(g.Scope("i"), x, Activation::kTanh)});
  x = ConcatChannels(g.Scope("more"),
                     {x, Relu(g.Scope("j"), BatchNorm(g.Scope("j"), x, {}))});
  x = testing::AddHalves(g.Scope("halves"),
                         Dense(g.Scope("d"), x, {.units = 4}));
  const Tensor twice =
      Add(g.Scope("e"), Relu(g.Scope("f"), x), Relu(g.Scope("g"), x));
  const Tensor loss = SparseSoftmaxCrossEntropy(
      g.Scope("loss"), twice, g.Placeholder("labels", DType::kInt32, {4}));
  Minimize(g.Scope("sgd"), loss, Sgd());
  return {.graph = g.graph(), .loss = loss.id()};
}

Graph WithHostNode(const Graph& graph, NodeId id) {
  GraphRewrite rewrite(graph);
  NodeSpec spec = SpecOf(graph, graph.node(id));
  spec.placement = Placement::kHost;
  rewrite.Replace(id, std::move(spec));
  return rewrite.Apply().graph;
}

std::vector<const Node*> HostNodes(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes()) {
    if (node.placement == Placement::kHost) nodes.push_back(&node);
  }
  return nodes;
}

absl::StatusOr<OptimizedGraph> RunAll(const Graph& graph, ValueId loss) {
  return RunPasses(graph, StandardOps(), StandardPasses(), std::vector{loss});
}

TEST(PlacementTest, EveryPassHasSomethingToDo) {
  const PatternGraph all = AllPatterns();
  ASSERT_OK_AND_ASSIGN(const OptimizedGraph result,
                       RunAll(all.graph, all.loss));
  for (const PassReport& report : result.reports) {
    if (report.name == "remove_dead_nodes") continue;
    EXPECT_GT(report.changed_nodes, 0) << report.name;
  }
}

// Each node in turn is the only one on the host, and must not change.
TEST(PlacementTest, ANodeOfTheHostIsLeftAlone) {
  const PatternGraph all = AllPatterns();
  for (const Node& node : all.graph.nodes()) {
    SCOPED_TRACE(node.name);
    ASSERT_OK_AND_ASSIGN(const OptimizedGraph result,
                         RunAll(WithHostNode(all.graph, node.id), all.loss));
    const std::vector<const Node*> host = HostNodes(result.graph);
    ASSERT_EQ(host.size(), 1U);
    EXPECT_EQ(host[0]->name, node.name);
    EXPECT_EQ(host[0]->op, node.op);
    EXPECT_EQ(host[0]->inputs.size(), node.inputs.size());
    EXPECT_EQ(host[0]->outputs.size(), node.outputs.size());
    EXPECT_TRUE(host[0]->attributes == node.attributes);
  }
}

}  // namespace
}  // namespace spillway

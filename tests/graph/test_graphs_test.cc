// The graphs that other tests rely on match the descriptions in their headers.
#include <map>

#include "graph/format/json_format.h"
#include "graph/verify.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graphs.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::ChainGraph;
using ::spillway::testing::DiamondGraph;
using ::spillway::testing::IsOk;
using ::spillway::testing::RandomGraphOptions;
using ::spillway::testing::RandomTrainingGraph;
using ::spillway::testing::ResidualGraph;
using ::testing::ElementsAre;

std::vector<std::string> InputNames(const Graph& graph, std::string_view node) {
  std::vector<std::string> names;
  for (const ValueId input : graph.node(*graph.FindNode(node)).inputs) {
    names.push_back(graph.producer(input).name);
  }
  return names;
}

TEST(SmallGraphsTest, ChainIsTheWorkedExample) {
  const Graph graph = ChainGraph();
  EXPECT_EQ(graph.num_nodes(), 9);
  EXPECT_THAT(InputNames(graph, "F1"), ElementsAre());
  EXPECT_THAT(InputNames(graph, "F4"), ElementsAre("F3"));
  EXPECT_THAT(InputNames(graph, "opt/B4"), ElementsAre("F4"));
  EXPECT_THAT(InputNames(graph, "opt/B3"), ElementsAre("opt/B4", "F3"));
  EXPECT_THAT(InputNames(graph, "opt/B1"), ElementsAre("opt/B2", "F1"));
  EXPECT_THAT(InputNames(graph, "opt/U"), ElementsAre("opt/B1"));
  EXPECT_EQ(graph.type(ValueId(0)).num_bytes(), 1 << 20);
}

TEST(SmallGraphsTest, AllVerify) {
  const OpRegistry no_ops;
  EXPECT_THAT(VerifyGraph(ChainGraph(50), no_ops), IsOk());
  EXPECT_THAT(VerifyGraph(DiamondGraph(), no_ops), IsOk());
  EXPECT_THAT(VerifyGraph(ResidualGraph(), no_ops), IsOk());
}

TEST(RandomGraphTest, TheSameOptionsMakeTheSameGraph) {
  const RandomGraphOptions options = {.seed = 5};
  EXPECT_EQ(FormatGraph(RandomTrainingGraph(options)),
            FormatGraph(RandomTrainingGraph(options)));
  EXPECT_NE(FormatGraph(RandomTrainingGraph({.seed = 5})),
            FormatGraph(RandomTrainingGraph({.seed = 6})));
}

TEST(RandomGraphTest, HasWhatTheOptionsAskFor) {
  const RandomGraphOptions options = {.seed = 1,
                                      .forward_nodes = 200,
                                      .skip_probability = 0.5,
                                      .branch_probability = 0.5,
                                      .multi_output_probability = 0.5};
  const Graph graph = RandomTrainingGraph(options);
  EXPECT_THAT(VerifyGraph(graph, OpRegistry()), IsOk());
  std::map<std::string, int> ops;
  int multi_output = 0;
  for (const Node& node : graph.nodes()) {
    ++ops[node.op];
    multi_output += node.op == "PlanLayer" && node.outputs.size() > 1 ? 1 : 0;
    const bool is_backward = node.name.starts_with("opt/gradients/");
    EXPECT_EQ(is_backward, node.op.ends_with("Grad")) << node.name;
  }
  EXPECT_EQ(ops["PlanLayer"], 200);
  EXPECT_EQ(ops["PlanLayerGrad"], 200);
  EXPECT_EQ(ops["Variable"], ops["PlanUpdate"]);
  EXPECT_GT(ops["Variable"], 70);
  EXPECT_GT(multi_output, 70);
  EXPECT_GT(graph.node(*graph.FindNode("loss")).inputs.size(), 70);
}

TEST(RandomGraphTest, WithoutProbabilitiesItIsAChain) {
  const Graph graph = RandomTrainingGraph({.forward_nodes = 10,
                                           .skip_probability = 0,
                                           .branch_probability = 0,
                                           .multi_output_probability = 0,
                                           .variable_probability = 0});
  EXPECT_EQ(graph.num_nodes(), 1 + 10 + 1 + 11);
  EXPECT_THAT(InputNames(graph, "f7"), ElementsAre("f6"));
  EXPECT_THAT(InputNames(graph, "loss"), ElementsAre("f9"));
}

}  // namespace
}  // namespace spillway

#include "lms/backward_phase.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// The names of the backward nodes.
std::vector<std::string> BackwardNodes(const LmsOptions& options,
                                       const Graph& graph) {
  const auto is_backward = FindBackwardNodes(options, graph);
  EXPECT_THAT(is_backward, testing::IsOk());
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if ((*is_backward)[node.id]) names.push_back(node.name);
  }
  return names;
}

Graph GraphOf(const std::vector<std::string>& names) {
  Graph graph;
  const TensorType type{.dtype = DType::kFloat32, .shape = {4}};
  for (const std::string& name : names) {
    graph.AddNode({.name = name, .op = "Op", .outputs = {type}});
  }
  return graph;
}

TEST(BackwardPhaseTest, OptimizerScopesAreFoundByTheirGradients) {
  const Graph graph =
      GraphOf({"a", "adam/gradients/a/G", "net/sgd/gradients/b/G",
               "adam/update/a", "my_gradients/x"});
  EXPECT_THAT(FindOptimizerScopes(graph), ElementsAre("adam", "net/sgd"));
}

TEST(BackwardPhaseTest, HasTheNodesOfTheScopesAndClones) {
  const Graph graph = GraphOf({"a", "adam/gradients/a/G", "adam/update/a",
                               "lms/recompute_a", "lms/other"});
  EXPECT_THAT(
      BackwardNodes({}, graph),
      ElementsAre("adam/gradients/a/G", "adam/update/a", "lms/recompute_a"));
}

TEST(BackwardPhaseTest, GivenScopesReplaceThoseThatAreFound) {
  const Graph graph = GraphOf({"a", "adam/gradients/a/G", "mine/x"});
  const LmsOptions options = {.v1 = {.optimizer_scopes = {"mine"}}};
  EXPECT_THAT(BackwardNodes(options, graph), ElementsAre("mine/x"));
}

TEST(BackwardPhaseTest, AGraphWithoutOneIsRefused) {
  EXPECT_THAT(FindBackwardNodes({}, GraphOf({"net/a", "lms/recompute_a"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none contains a scope `gradients`")));
}

}  // namespace
}  // namespace spillway

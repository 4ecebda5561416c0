#include "graph/traverse.h"

#include <vector>

#include "gmock/gmock.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int32_t> Predecessors(const Graph& graph, NodeId id) {
  std::vector<int32_t> ids;
  ForEachPredecessor(graph, id, [&](NodeId n) { ids.push_back(n.value()); });
  return ids;
}

std::vector<int32_t> Successors(const Graph& graph, NodeId id) {
  std::vector<int32_t> ids;
  ForEachSuccessor(graph, id, [&](NodeId n) { ids.push_back(n.value()); });
  return ids;
}

std::vector<int32_t> Readers(const Graph& graph, ValueId value) {
  std::vector<int32_t> ids;
  ForEachReader(graph, value, [&](NodeId n) { ids.push_back(n.value()); });
  return ids;
}

TEST(TraverseTest, VisitsDataEdgesThenControlEdgesOnceEach) {
  Graph graph;
  const NodeId a = graph.AddNode(
      {.name = "a", .op = "Two", .outputs = {TensorType(), TensorType()}});
  const NodeId b = graph.AddNode({.name = "b", .op = "One"});
  const NodeId c = graph.AddNode(
      {.name = "c",
       .op = "Three",
       .inputs = {graph.output(a, 1), graph.output(a, 0), graph.output(a, 1)},
       .control_inputs = {b, a}});
  EXPECT_THAT(Predecessors(graph, a), IsEmpty());
  EXPECT_THAT(Predecessors(graph, c), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_THAT(Successors(graph, a), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(Successors(graph, b), ElementsAre(2));
  EXPECT_THAT(Successors(graph, c), IsEmpty());
}

TEST(TraverseTest, VisitsEachReaderOfAValueOnceById) {
  Graph graph;
  const NodeId a = graph.AddNode(
      {.name = "a", .op = "Two", .outputs = {TensorType(), TensorType()}});
  const ValueId x = graph.output(a, 0);
  const ValueId y = graph.output(a, 1);
  graph.AddNode({.name = "b", .op = "Three", .inputs = {x, y, x}});
  graph.AddNode({.name = "c", .op = "Two", .inputs = {x, x}});
  graph.AddNode({.name = "d", .op = "None", .control_inputs = {a}});
  EXPECT_THAT(Readers(graph, x), ElementsAre(1, 2));
  EXPECT_THAT(Readers(graph, y), ElementsAre(1));
}

}  // namespace
}  // namespace spillway

#include "lms/incremental_order.h"

#include <fmt/format.h>

#include <random>

#include "graph/order/schedule.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

Graph Nodes(int count) {
  Graph graph;
  for (int i = 0; i < count; ++i) {
    graph.AddNode({.name = fmt::format("n{}", i), .op = "Op"});
  }
  return graph;
}

TEST(IncrementalOrderTest, AgreesWithSortingAnewOnRandomEdges) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int count = 2 + static_cast<int>(random() % 12);
    const Graph graph = Nodes(count);
    EditView view(graph);
    IncrementalOrder order(view, *Levels(graph));
    Graph grown = graph;
    for (int edge = 0; edge < 3 * count; ++edge) {
      const NodeId before(static_cast<int32_t>(random() % count));
      const NodeId after(static_cast<int32_t>(random() % count));
      bool cyclic = before == after;
      if (!cyclic) {
        Graph tried = grown;
        tried.AddControlEdge(before, after);
        cyclic = !Levels(tried).ok();
      }
      ASSERT_EQ(order.ClosesCycle(before, after), cyclic);
      if (cyclic) continue;
      grown.AddControlEdge(before, after);
      view.AddControlEdge(before, after);
    }
  }
}

}  // namespace
}  // namespace spillway

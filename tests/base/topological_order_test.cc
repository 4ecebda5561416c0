#include "base/topological_order.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using TaskId = StrongId<struct TaskTag>;
using Edge = std::pair<int, int>;

struct Case {
  size_t size = 0;
  std::vector<Edge> edges = {};  // from, to

  TopologicalOrder<TaskId> Start() const {
    IdMap<TaskId, int32_t> missing(size, 0);
    for (const Edge& edge : edges) ++missing[TaskId(edge.second)];
    return TopologicalOrder<TaskId>(std::move(missing));
  }

  // The remaining nodes, in order.
  std::vector<int> Rest(TopologicalOrder<TaskId>& order) const {
    std::vector<int> nodes;
    for (TaskId id = order.Next(); id.is_valid(); id = order.Next()) {
      nodes.push_back(id.value());
      for (const Edge& edge : edges) {
        if (edge.first == id.value()) order.Arrive(TaskId(edge.second));
      }
    }
    return nodes;
  }

  std::vector<int> All() const {
    TopologicalOrder<TaskId> order = Start();
    return Rest(order);
  }
};

TEST(TopologicalOrderTest, OfNothingIsEmptyAndComplete) {
  const Case empty;
  TopologicalOrder<TaskId> order = empty.Start();
  EXPECT_THAT(empty.Rest(order), IsEmpty());
  EXPECT_TRUE(order.is_complete());
}

TEST(TopologicalOrderTest, NodesWithoutEdgesComeById) {
  EXPECT_THAT(Case{.size = 3}.All(), ElementsAre(0, 1, 2));
}

TEST(TopologicalOrderTest, NodesComeInTheOrderInWhichTheyBecomeReady) {
  const Case tree = {.size = 5, .edges = {{1, 4}, {1, 2}, {3, 0}}};
  EXPECT_THAT(tree.All(), ElementsAre(1, 3, 4, 2, 0));
}

TEST(TopologicalOrderTest, ANodeWaitsForEachOfItsEdges) {
  const Case diamond = {.size = 4,
                        .edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 3}}};
  EXPECT_THAT(diamond.All(), ElementsAre(0, 1, 2, 3));
}

TEST(TopologicalOrderTest, NodesOnACycleAndBehindItKeepWaiting) {
  const Case cycle = {.size = 5, .edges = {{0, 1}, {1, 2}, {2, 1}, {2, 3}}};
  TopologicalOrder<TaskId> order = cycle.Start();
  EXPECT_THAT(cycle.Rest(order), ElementsAre(0, 4));
  EXPECT_FALSE(order.is_complete());
  EXPECT_FALSE(order.is_waiting(TaskId(0)));
  EXPECT_TRUE(order.is_waiting(TaskId(1)));
  EXPECT_TRUE(order.is_waiting(TaskId(2)));
  EXPECT_TRUE(order.is_waiting(TaskId(3)));
}

TEST(TopologicalOrderTest, GoesOnWhereACycleIsCut) {
  Case cycle = {.size = 4, .edges = {{0, 1}, {1, 2}, {2, 1}, {2, 3}}};
  TopologicalOrder<TaskId> order = cycle.Start();
  EXPECT_THAT(cycle.Rest(order), ElementsAre(0));
  std::erase(cycle.edges, Edge{2, 1});
  order.Arrive(TaskId(1));
  EXPECT_THAT(cycle.Rest(order), ElementsAre(1, 2, 3));
  EXPECT_TRUE(order.is_complete());
}

TEST(TopologicalOrderTest, ANodeWithAnEdgeThatNeverArrivesIsLeftOut) {
  TopologicalOrder<TaskId> order(IdMap<TaskId, int32_t>(1, 1));
  EXPECT_FALSE(order.Next().is_valid());
  EXPECT_TRUE(order.is_waiting(TaskId(0)));
}

int NaiveLevel(const Case& random_case, int node) {
  int level = 0;
  for (const Edge& edge : random_case.edges) {
    if (edge.second != node) continue;
    level = std::max(level, NaiveLevel(random_case, edge.first) + 1);
  }
  return level;
}

TEST(TopologicalOrderTest, RandomNodesComeOnceAfterTheirEdgesAndByLevel) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Case random_case = {.size = 12};
    for (int i = 0; i < 16; ++i) {
      const int a = static_cast<int>(random() % 12);
      const int b = static_cast<int>(random() % 12);
      // Along an order in which neighbours have distant ids.
      if (a * 5 % 12 < b * 5 % 12) random_case.edges.push_back({a, b});
    }
    const std::vector<int> order = random_case.All();
    ASSERT_EQ(order.size(), random_case.size);
    for (const Edge& edge : random_case.edges) {
      EXPECT_LT(std::ranges::find(order, edge.first),
                std::ranges::find(order, edge.second));
    }
    EXPECT_TRUE(std::ranges::is_sorted(
        order, {}, [&](int node) { return NaiveLevel(random_case, node); }));
  }
}

}  // namespace
}  // namespace spillway

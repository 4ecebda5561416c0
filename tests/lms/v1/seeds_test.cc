#include "lms/v1/seeds.h"

#include <algorithm>
#include <random>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "graph/order/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Phases {
  Graph graph;
  IdMap<NodeId, bool> is_gradient;

  NodeId Add(std::vector<NodeId> inputs, bool gradient = false) {
    NodeSpec spec = {.name = fmt::format("n{}", graph.num_nodes()),
                     .op = "Op",
                     .outputs = {{.dtype = DType::kFloat32, .shape = {4}}}};
    for (const NodeId id : inputs) spec.inputs.push_back(graph.output(id));
    is_gradient.push_back(gradient);
    return graph.AddNode(spec);
  }
  // Also adds a gradient node that reads it.
  NodeId AddCandidate(std::vector<NodeId> inputs) {
    const NodeId id = Add(std::move(inputs));
    Add({id}, /*gradient=*/true);
    return id;
  }
  std::vector<NodeId> Seeds() const {
    const auto levels = Levels(graph);
    return FindSeeds({.graph = graph,
                      .storages = StorageMap::WithoutAliases(graph),
                      .is_gradient = is_gradient,
                      .levels = *levels});
  }
};

TEST(V1SeedsTest, TheNodeThatReachesMostIsTheSeed) {
  Phases net;
  const NodeId image = net.AddCandidate({});
  const NodeId conv = net.AddCandidate({image});
  const NodeId late_weights = net.AddCandidate({});
  net.AddCandidate({conv, late_weights});
  EXPECT_THAT(net.Seeds(), ElementsAre(image));
}

TEST(V1SeedsTest, AllThatReachEquallyManyAreSeeds) {
  Phases net;
  const NodeId image = net.AddCandidate({});
  const NodeId weights = net.AddCandidate({});
  const NodeId cast = net.Add({weights});
  net.AddCandidate({net.AddCandidate({image, cast})});
  EXPECT_THAT(net.Seeds(), ElementsAre(image, weights));
}

TEST(V1SeedsTest, WhoReachesNobodyIsNoSeed) {
  Phases net;
  net.AddCandidate({});
  net.AddCandidate({});
  EXPECT_THAT(net.Seeds(), IsEmpty());
}

// Counts by walking from every candidate.
std::vector<NodeId> SeedsByDefinition(const Phases& net) {
  std::vector<NodeId> candidates;
  const auto readers = [&](NodeId id) {
    std::vector<NodeId> found;
    for (const Use& use : net.graph.uses(net.graph.output(id))) {
      found.push_back(use.node);
    }
    return found;
  };
  std::vector<bool> is_candidate(net.graph.num_nodes(), false);
  for (const Node& node : net.graph.nodes()) {
    for (const NodeId reader : readers(node.id)) {
      if (!net.is_gradient[node.id] && net.is_gradient[reader]) {
        is_candidate[node.id.index()] = true;
      }
    }
  }
  std::vector<NodeId> best;
  int most = 1;
  for (const Node& node : net.graph.nodes()) {
    if (!is_candidate[node.id.index()]) continue;
    std::vector<bool> met(net.graph.num_nodes(), false);
    std::vector<NodeId> open = {node.id};
    int count = 0;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const NodeId reader : readers(id)) {
        if (met[reader.index()] || net.is_gradient[reader]) continue;
        met[reader.index()] = true;
        count += is_candidate[reader.index()] ? 1 : 0;
        open.push_back(reader);
      }
    }
    if (count > most) best.clear();
    if (count >= most) best.push_back(node.id);
    most = std::max(most, count);
  }
  return best;
}

// From long chains with side inputs to sparse graphs with many starts.
TEST(V1SeedsTest, RandomGraphsHaveTheSeedsOfTheDefinition) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const uint32_t starts = 2 + random() % 12;
    const uint32_t reach = 1 + random() % 20;
    const uint32_t candidates = 1 + random() % 4;
    Phases net;
    std::vector<NodeId> forward;
    for (int i = 0; i < 120; ++i) {
      std::vector<NodeId> inputs;
      for (uint32_t n = random() % 3; !forward.empty() &&
                                      (n > 0 || random() % starts != 0) &&
                                      inputs.size() <= n;) {
        const auto back = random() % std::min<size_t>(reach, forward.size());
        inputs.push_back(forward[forward.size() - 1 - back]);
      }
      forward.push_back(random() % candidates == 0 ? net.AddCandidate(inputs)
                                                   : net.Add(inputs));
    }
    ASSERT_EQ(net.Seeds(), SeedsByDefinition(net));
  }
}

}  // namespace
}  // namespace spillway

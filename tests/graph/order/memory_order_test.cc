#include "graph/order/memory_order.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::RandomTrainingGraph;
using testing::ToyOps;

// One of the two orders, with its name.
struct Order {
  std::string name;
  std::function<IdMap<NodeId, int32_t>(const MemoryOrderInputs&)> find;
};

const Order kForward = {"Forward", ForwardMemoryOrder};
const Order kBackward = {"Backward", BackwardMemoryOrder};

// A graph of values of a few bytes, and the part of it that runs.
struct Case {
  Graph graph = Graph("test");
  IdMap<NodeId, bool> keep = {};
  std::vector<ValueId> fetches = {};
  OpRegistry ops = ToyOps();

  ValueId Add(std::string name, std::string_view op, int64_t bytes,
              std::vector<ValueId> inputs = {}) {
    const bool copies = op == kSwapOut || op == kSwapIn;
    return graph.output(graph.AddNode(
        {.name = std::move(name),
         .op = std::string(op),
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}},
         .placement = copies ? Placement::kHost : Placement::kDevice}));
  }
  ValueId Add(std::string name, int64_t bytes,
              std::vector<ValueId> inputs = {}) {
    return Add(std::move(name), "F", bytes, std::move(inputs));
  }

  IdMap<NodeId, int32_t> Places(const Order& order) const {
    const Schedule schedule = MakeSchedule(graph, ops, keep).value();
    return order.find({.graph = graph,
                       .registry = ops,
                       .schedule = schedule,
                       .fetches = fetches});
  }

  bool IsKept(NodeId id) const { return keep.empty() || keep[id]; }
};

std::vector<std::string> Names(const Case& c, const Order& order) {
  const auto schedule = MakeSchedule(c.graph, c.ops, c.keep, c.Places(order));
  EXPECT_THAT(schedule, testing::IsOk());
  std::vector<std::string> names;
  if (!schedule.ok()) return names;
  for (const NodeId id : schedule->order) {
    names.push_back(c.graph.node(id).name);
  }
  return names;
}

class MemoryOrderTest : public ::testing::TestWithParam<Order> {};

// In breadth-first order, both large values would be live at once.
//
//        +-> a1 (100) -> a2 (1) -+
//   s ---+                       +-> join
//        +-> b1 (100) -> b2 (1) -+
TEST_P(MemoryOrderTest, FinishesABranchBeforeItBeginsTheNext) {
  Case c;
  const ValueId s = c.Add("s", 10);
  const ValueId a1 = c.Add("a1", 100, {s});
  const ValueId b1 = c.Add("b1", 100, {s});
  const ValueId a2 = c.Add("a2", 1, {a1});
  const ValueId b2 = c.Add("b2", 1, {b1});
  c.Add("join", 1, {a2, b2});
  EXPECT_THAT(Names(c, GetParam()),
              ElementsAre("s", "a1", "a2", "b1", "b2", "join"));
}

// The filter's gradient is small and the last reader of x; after it, the
// input's gradient can use x's bytes.
TEST_P(MemoryOrderTest, FreesAnInputBeforeSomethingLargeIsMade) {
  Case c;
  const ValueId x = c.Add("x", 100);
  const ValueId dy = c.Add("dy", 100, {x});
  const ValueId dx = c.Add("dx", 100, {dy});
  const ValueId dw = c.Add("dw", 1, {x, dy});
  c.Add("end", 1, {dx, dw});
  EXPECT_THAT(Names(c, GetParam()), ElementsAre("x", "dy", "dw", "dx", "end"));
}

// Only the last node needs `table`.
TEST_P(MemoryOrderTest, MakesALargeValueNoEarlierThanItIsNeeded) {
  Case c;
  const ValueId table = c.Add("table", 100);
  const ValueId a = c.Add("a", 50);
  const ValueId b = c.Add("b", 50, {a});
  const ValueId d = c.Add("d", 50, {b});
  c.Add("end", 1, {d, table});
  EXPECT_THAT(Names(c, GetParam()), ElementsAre("a", "b", "d", "table", "end"));
}

// Of two readers, the one of the larger value comes first, unless that value
// stays live anyway.
TEST_P(MemoryOrderTest, AFetchedValueIsNotFreedByItsLastReader) {
  Case c;
  const NodeId both =
      c.graph.AddNode({.name = "both",
                       .op = "F",
                       .outputs = {{.dtype = DType::kUInt8, .shape = {100}},
                                   {.dtype = DType::kUInt8, .shape = {50}}}});
  const ValueId large = c.graph.output(both, 0);
  const ValueId small = c.graph.output(both, 1);
  const ValueId of_large = c.Add("of_large", 10, {large});
  const ValueId of_small = c.Add("of_small", 10, {small});
  c.Add("end", 1, {of_large, of_small});
  const auto is_before = [&](std::string_view a, std::string_view b) {
    const std::vector<std::string> names = Names(c, GetParam());
    return std::ranges::find(names, a) < std::ranges::find(names, b);
  };
  EXPECT_TRUE(is_before("of_large", "of_small"));
  c.fetches = {large};
  EXPECT_TRUE(is_before("of_small", "of_large"));
}

// An alias uses as many bytes, but its reader is not the last reader of x.
TEST_P(MemoryOrderTest, AnAliasIsTheSameBytes) {
  Case c;
  const ValueId x = c.Add("x", 100);
  const ValueId y = c.Add("y", 60);
  const ValueId alias = c.Add("alias", "Alias", 100, {x});
  const ValueId of_alias = c.Add("of_alias", 10, {alias});
  const ValueId of_y = c.Add("of_y", 10, {y});
  const ValueId join = c.Add("join", 10, {of_alias, of_y});
  c.Add("end", 1, {x, join});
  const std::vector<std::string> names = Names(c, GetParam());
  const auto place = [&](std::string_view name) {
    return std::ranges::find(names, name) - names.begin();
  };
  // x lives to the end in any order: only y's lifetime can be short.
  EXPECT_EQ(place("of_y"), place("y") + 1);
}

TEST_P(MemoryOrderTest, TiesGoToTheOrderInWhichTheGraphWasBuilt) {
  Case c;
  const ValueId s = c.Add("s", 10);
  std::vector<ValueId> branches;
  for (const char* name : {"a", "b", "c", "d"}) {
    branches.push_back(c.Add(name, 5, {s}));
  }
  c.Add("join", 1, branches);
  EXPECT_THAT(Names(c, GetParam()),
              ElementsAre("s", "a", "b", "c", "d", "join"));
}

TEST_P(MemoryOrderTest, ResidentsAndHostBytesAreFree) {
  Case c;
  const ValueId w = c.Add("w", kVariable, 1000);
  const ValueId x = c.Add("x", 100);
  const ValueId out = c.Add("out", kSwapOut, 100, {x});
  const ValueId a = c.Add("a", 10, {w});
  const ValueId in = c.Add("in", kSwapIn, 100, {out});
  c.Add("end", 1, {a, in});
  EXPECT_EQ(Names(c, GetParam()).front(), "w");
  EXPECT_EQ(Names(c, GetParam()).back(), "end");
}

// A random training graph; for some, only the part that a fetch needs.
Case RandomCase(uint64_t seed) {
  Case c{.graph = RandomTrainingGraph({.seed = seed,
                                       .forward_nodes = 25,
                                       .skip_probability = 0.3,
                                       .branch_probability = 0.3})};
  if (seed % 2 == 1) {
    c.fetches = {ValueId((seed * 37) % c.graph.num_values()),
                 ValueId((seed * 91) % c.graph.num_values())};
    c.keep = NodesToRun(c.graph, c.ops, c.fetches);
  }
  return c;
}

// The kept nodes by their place; places are unique.
std::vector<NodeId> ByPlace(const Case& c, const Order& order) {
  const IdMap<NodeId, int32_t> place = c.Places(order);
  std::vector<std::pair<int32_t, NodeId>> placed;
  for (const Node& node : c.graph.nodes()) {
    if (c.IsKept(node.id)) placed.emplace_back(place[node.id], node.id);
  }
  std::ranges::sort(placed);
  std::vector<NodeId> ids;
  for (size_t i = 0; i < placed.size(); ++i) {
    EXPECT_TRUE(i == 0 || placed[i - 1].first < placed[i].first);
    ids.push_back(placed[i].second);
  }
  return ids;
}

TEST_P(MemoryOrderTest, PlacesEveryKeptNodeOnceAfterWhatItNeeds) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = RandomCase(seed);
    const std::vector<NodeId> order = ByPlace(c, GetParam());
    std::set<NodeId> done;
    for (const NodeId id : order) {
      ForEachPredecessor(c.graph, id, [&](NodeId before) {
        EXPECT_TRUE(done.contains(before)) << c.graph.node(id).name;
      });
      done.insert(id);
    }
    const auto kept = std::ranges::count_if(
        c.graph.nodes(), [&](const Node& node) { return c.IsKept(node.id); });
    EXPECT_EQ(done.size(), static_cast<size_t>(kept));
  }
}

// As a preference it only changes the order of nodes of one rank.
TEST_P(MemoryOrderTest, GivesAScheduleOfTheKeptNodes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = RandomCase(seed);
    ASSERT_OK_AND_ASSIGN(
        const Schedule schedule,
        MakeSchedule(c.graph, c.ops, c.keep, c.Places(GetParam())));
    std::vector<NodeId> order = ByPlace(c, GetParam());
    std::vector<NodeId> scheduled = schedule.order;
    std::ranges::sort(order);
    std::ranges::sort(scheduled);
    EXPECT_EQ(scheduled, order);
  }
}

TEST_P(MemoryOrderTest, IsTheSameOnEveryRun) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Case first = RandomCase(seed);
    const Case second = RandomCase(seed);
    EXPECT_EQ(first.Places(GetParam()), second.Places(GetParam()))
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, MemoryOrderTest,
                         ::testing::Values(kForward, kBackward),
                         [](const ::testing::TestParamInfo<Order>& instance) {
                           return instance.param.name;
                         });

// Bytes of one value if it counts. The random graphs have no aliases, and every
// node except their variables is on the device.
int64_t BytesOf(const Case& c, ValueId value) {
  return c.graph.producer(value).op == kVariable
             ? 0
             : c.graph.type(value).num_bytes();
}

// Whether a kept node for which `is_reader` holds reads the value.
bool IsReadBy(const Case& c, ValueId value,
              const std::function<bool(NodeId)>& is_reader) {
  return std::ranges::any_of(c.graph.uses(value), [&](const Use& use) {
    return c.IsKept(use.node) && is_reader(use.node);
  });
}

bool IsFetched(const Case& c, ValueId value) {
  return std::ranges::count(c.fetches, value) > 0;
}

// Live bytes after the nodes in `done` have run.
int64_t AliveAfter(const Case& c, const std::set<NodeId>& done) {
  int64_t bytes = 0;
  for (const NodeId id : done) {
    for (const ValueId output : c.graph.node(id).outputs) {
      if (IsFetched(c, output) || IsReadBy(c, output, [&](NodeId reader) {
            return !done.contains(reader);
          })) {
        bytes += BytesOf(c, output);
      }
    }
  }
  return bytes;
}

// Repeatedly tries every node that may come next.
std::vector<NodeId> NaiveForward(const Case& c) {
  std::set<NodeId> done;
  std::vector<NodeId> order;
  while (true) {
    std::tuple<int, int64_t, NodeId> best = {100, 0, NodeId()};
    for (const Node& node : c.graph.nodes()) {
      if (!c.IsKept(node.id) || done.contains(node.id)) continue;
      bool is_ready = true;
      ForEachPredecessor(c.graph, node.id, [&](NodeId before) {
        is_ready = is_ready && done.contains(before);
      });
      if (!is_ready) continue;
      std::set<NodeId> with = done;
      with.insert(node.id);
      best = std::min(best,
                      {ReadyRank(node, c.ops), AliveAfter(c, with), node.id});
    }
    const NodeId next = std::get<NodeId>(best);
    if (!next.is_valid()) return order;
    done.insert(next);
    order.push_back(next);
  }
}

// The bytes of inputs that neither `after` nor the fetches keep live, minus the
// bytes that the node makes: how many more bytes are live before it than after
// it.
int64_t GrowthBackwards(const Case& c, NodeId id,
                        const std::set<NodeId>& after) {
  int64_t bytes = 0;
  const Node& node = c.graph.node(id);
  for (const ValueId input :
       std::set<ValueId>(node.inputs.begin(), node.inputs.end())) {
    const bool is_alive =
        IsFetched(c, input) || IsReadBy(c, input, [&](NodeId reader) {
          return after.contains(reader);
        });
    if (!is_alive) bytes += BytesOf(c, input);
  }
  for (const ValueId output : node.outputs) bytes -= BytesOf(c, output);
  return bytes;
}

std::vector<NodeId> NaiveBackward(const Case& c) {
  std::set<NodeId> after;
  std::vector<NodeId> order;
  while (true) {
    std::pair<int64_t, int32_t> best = {int64_t{1} << 60, 0};
    for (const Node& node : c.graph.nodes()) {
      if (!c.IsKept(node.id) || after.contains(node.id)) continue;
      bool is_ready = true;
      ForEachSuccessor(c.graph, node.id, [&](NodeId next) {
        is_ready = is_ready && (!c.IsKept(next) || after.contains(next));
      });
      if (!is_ready) continue;
      best = std::min(best,
                      {GrowthBackwards(c, node.id, after), -node.id.value()});
    }
    if (best.first == int64_t{1} << 60) break;
    after.insert(NodeId(-best.second));
    order.push_back(NodeId(-best.second));
  }
  std::ranges::reverse(order);
  return order;
}

TEST(ForwardMemoryOrderTest, EqualsTheNaiveGreedyOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = RandomCase(seed);
    EXPECT_EQ(ByPlace(c, kForward), NaiveForward(c)) << "seed " << seed;
  }
}

TEST(BackwardMemoryOrderTest, EqualsTheNaiveGreedyOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = RandomCase(seed);
    EXPECT_EQ(ByPlace(c, kBackward), NaiveBackward(c)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace spillway

#include "graph/order/mutation_order.h"

#include <fmt/format.h>

#include <random>

#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using testing::kInvalid;

absl::Status Check(const Graph& graph) {
  const OpRegistry registry = ScalarOps();
  SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                            MakeSchedule(graph, registry, {}));
  return CheckMutationOrder(graph, registry, schedule.order);
}

NodeId Add(Graph& graph, std::string name, std::string op,
           std::vector<NodeId> inputs) {
  NodeSpec spec = {
      .name = std::move(name), .op = std::move(op), .outputs = {TensorType()}};
  for (const NodeId input : inputs) spec.inputs.push_back(graph.output(input));
  return graph.AddNode(std::move(spec));
}

// `read` reads w and `update` overwrites it, without an order between them yet.
struct ReadAndUpdate {
  Graph graph;
  NodeId w = Add(graph, "w", "Variable", {});
  NodeId x = Add(graph, "x", "Placeholder", {});
  NodeId read = Add(graph, "read", "Mul", {w, x});
  NodeId update = Add(graph, "update", "Assign", {w, x});
};

TEST(MutationOrderTest, AReaderBesideTheUpdateIsRefused) {
  EXPECT_THAT(Check(ReadAndUpdate().graph),
              StatusIs(kInvalid, AllOf(HasSubstr("read"), HasSubstr("update"),
                                       HasSubstr("w:0"))));
}

TEST(MutationOrderTest, AControlEdgeEitherWaySettlesIt) {
  ReadAndUpdate before;
  before.graph.AddControlEdge(before.read, before.update);
  EXPECT_THAT(Check(before.graph), IsOk());
  ReadAndUpdate after;
  after.graph.AddControlEdge(after.update, after.read);
  EXPECT_THAT(Check(after.graph), IsOk());
}

TEST(MutationOrderTest, APathThroughOtherNodesSettlesIt) {
  ReadAndUpdate test;
  const NodeId loss = Add(test.graph, "loss", "Negate", {test.read});
  const NodeId gradient = Add(test.graph, "gradient", "Negate", {loss});
  test.graph.AddControlEdge(gradient, test.update);
  EXPECT_THAT(Check(test.graph), IsOk());
}

TEST(MutationOrderTest, ReadersThroughAnAliasCount) {
  ReadAndUpdate test;
  test.graph.AddControlEdge(test.read, test.update);
  const NodeId alias = Add(test.graph, "alias", "Identity", {test.w});
  test.graph.AddControlEdge(alias, test.update);
  EXPECT_THAT(Check(test.graph), IsOk());
  Add(test.graph, "hidden", "Negate", {alias});
  EXPECT_THAT(Check(test.graph), StatusIs(kInvalid, HasSubstr("hidden")));
}

TEST(MutationOrderTest, ReadersOfTheUpdatedValueComeAfter) {
  ReadAndUpdate test;
  test.graph.AddControlEdge(test.read, test.update);
  Add(test.graph, "report", "Negate", {test.update});
  EXPECT_THAT(Check(test.graph), IsOk());
  // ... but not after the next update, unless an edge orders them.
  const NodeId second =
      Add(test.graph, "second", "Assign", {test.update, test.x});
  EXPECT_THAT(Check(test.graph), StatusIs(kInvalid, HasSubstr("report")));
  test.graph.AddControlEdge(NodeId(4), second);
  EXPECT_THAT(Check(test.graph), IsOk());
}

TEST(MutationOrderTest, TwoUpdatesMustBeOrdered) {
  ReadAndUpdate test;
  test.graph.AddControlEdge(test.read, test.update);
  const NodeId second = Add(test.graph, "second", "Assign", {test.w, test.x});
  test.graph.AddControlEdge(test.read, second);
  EXPECT_THAT(Check(test.graph), StatusIs(kInvalid, HasSubstr("second")));
  test.graph.AddControlEdge(test.update, second);
  EXPECT_THAT(Check(test.graph), IsOk());
}

TEST(MutationOrderTest, AnUpdateMayReadItsVariableTwice) {
  Graph graph;
  const NodeId w = Add(graph, "w", "Variable", {});
  Add(graph, "update", "Assign", {w, w});
  EXPECT_THAT(Check(graph), IsOk());
}

// The naive twin: checks all pairs, by the definition.
class NaiveCheck {
 public:
  explicit NaiveCheck(const Graph& graph) : graph_(graph) {}

  bool IsOrdered() const {
    for (const Node& update : graph_.nodes()) {
      if (update.op != "Assign") continue;
      for (const Node& reader : graph_.nodes()) {
        if (reader.id != update.id && Touches(reader, Root(update.inputs[0])) &&
            !Reaches(reader.id, update.id) && !Reaches(update.id, reader.id)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  ValueId Root(ValueId value) const {
    const Node& producer = graph_.producer(value);
    const bool is_alias = producer.op == "Assign" || producer.op == "Identity";
    return is_alias ? Root(producer.inputs[0]) : value;
  }
  bool Touches(const Node& node, ValueId root) const {
    for (const ValueId input : node.inputs) {
      if (Root(input) == root) return true;
    }
    return false;
  }
  bool Reaches(NodeId from, NodeId to) const {
    if (from == to) return true;
    if (from > to) return false;  // ids of the random graphs are topological
    bool reaches = false;
    ForEachPredecessor(graph_, to, [&](NodeId before) {
      reaches = reaches || Reaches(from, before);
    });
    return reaches;
  }

  const Graph& graph_;
};

Graph RandomUpdates(uint64_t seed) {
  std::mt19937_64 random(seed);
  Graph graph;
  const size_t num_variables = 1 + random() % 4;
  const size_t num_nodes = num_variables + random() % 14;
  // With a likely edge to the previous node, so that many pairs are ordered by
  // chance.
  const uint64_t chain = random() % 5;
  const char* ops[] = {"Mul", "Mul", "Identity", "Assign"};
  for (size_t i = 0; i < num_nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    if (i < num_variables) {
      Add(graph, name, "Variable", {});
      continue;
    }
    const std::string op = ops[random() % std::size(ops)];
    std::vector<NodeId> inputs = {NodeId(random() % i)};
    if (op != "Identity") inputs.emplace_back(random() % i);
    const NodeId id = Add(graph, name, op, inputs);
    if (random() % 4 < chain) graph.AddControlEdge(NodeId(i - 1), id);
  }
  return graph;
}

TEST(MutationOrderTest, AgreesWithAllPairsOnRandomGraphs) {
  int num_ordered = 0;
  constexpr int kGraphs = 3000;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = RandomUpdates(seed);
    const bool is_ordered = NaiveCheck(graph).IsOrdered();
    ASSERT_EQ(Check(graph).ok(), is_ordered)
        << "seed " << seed << ": " << Check(graph);
    num_ordered += is_ordered ? 1 : 0;
  }
  // Both answers must be common, or the comparison proves little.
  EXPECT_GT(num_ordered, kGraphs / 10);
  EXPECT_LT(num_ordered, kGraphs * 9 / 10);
}

// More updates than one sweep handles: the last gradient orders each of them.
TEST(MutationOrderTest, SettlesHundredsOfVariables) {
  constexpr int kVariables = 300;
  Graph graph;
  const NodeId x = Add(graph, "x", "Placeholder", {});
  std::vector<NodeId> variables;
  NodeId last = x;
  for (int i = 0; i < kVariables; ++i) {
    variables.push_back(Add(graph, fmt::format("w{}", i), "Variable", {}));
    last =
        Add(graph, fmt::format("layer{}", i), "Mul", {last, variables.back()});
  }
  for (int i = 0; i < kVariables; ++i) {
    last = Add(graph, fmt::format("gradient{}", i), "Negate", {last});
    Add(graph, fmt::format("update{}", i), "Assign",
        {variables[kVariables - 1 - static_cast<size_t>(i)], last});
  }
  EXPECT_THAT(Check(graph), IsOk());
  // One unordered reader among them is found.
  Add(graph, "stray", "Negate", {variables[150]});
  EXPECT_THAT(Check(graph), StatusIs(kInvalid, HasSubstr("stray")));
}

// Every reader leads to every update, except that the reader of one variable
// does not lead to its own update: no sweep may confuse two updates.
TEST(MutationOrderTest, TellsUpdatesApart) {
  constexpr int kVariables = 70;
  for (int bad = 0; bad < kVariables; ++bad) {
    Graph graph;
    std::vector<NodeId> variables;
    std::vector<NodeId> after_read;
    for (int i = 0; i < kVariables; ++i) {
      variables.push_back(Add(graph, fmt::format("w{}", i), "Variable", {}));
      const NodeId read =
          Add(graph, fmt::format("read{}", i), "Negate", {variables.back()});
      after_read.push_back(Add(graph, fmt::format("y{}", i), "Negate", {read}));
    }
    for (int i = 0; i < kVariables; ++i) {
      const size_t index = static_cast<size_t>(i);
      const NodeId x = Add(graph, fmt::format("x{}", i), "Placeholder", {});
      const NodeId update = Add(graph, fmt::format("update{}", i), "Assign",
                                {variables[index], x});
      for (const NodeId before : after_read) {
        if (i != bad || before != after_read[index]) {
          graph.AddControlEdge(before, update);
        }
      }
    }
    EXPECT_THAT(Check(graph),
                StatusIs(kInvalid, HasSubstr(fmt::format("read{} and update{} ",
                                                         bad, bad))));
  }
}

}  // namespace
}  // namespace spillway

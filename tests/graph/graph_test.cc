#include "graph/graph.h"

#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "graph/order/schedule.h"
#include "graph/verify.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graphs.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::AddPlanNode;
using ::spillway::testing::ChainGraph;
using ::spillway::testing::IsOk;
using ::spillway::testing::RandomTrainingGraph;
using ::spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using testing::kInvalid;

TEST(GraphTest, KeepsWhatANodeIsMadeOf) {
  Graph graph("g");
  const TensorType type = {.dtype = DType::kInt32, .shape = {2, 3}};
  const NodeId a =
      graph.AddNode({.name = "a", .op = "Source", .outputs = {type}});
  const NodeId b = graph.AddNode({.name = "s/b",
                                  .op = "Op",
                                  .inputs = {graph.output(a)},
                                  .control_inputs = {a, a},
                                  .outputs = {TensorType(), type},
                                  .attributes = {{"k", 1}},
                                  .placement = Placement::kHost,
                                  .cost = StatedCost{.flops = 5}});
  const Node& node = graph.node(b);
  EXPECT_EQ(node.id, b);
  EXPECT_EQ(node.name, "s/b");
  EXPECT_EQ(node.op, "Op");
  EXPECT_THAT(node.inputs, ElementsAre(graph.output(a)));
  EXPECT_THAT(node.control_inputs, ElementsAre(a));
  EXPECT_EQ(node.outputs.size(), 2);
  EXPECT_EQ(node.attributes, (Attributes{{"k", 1}}));
  EXPECT_EQ(node.placement, Placement::kHost);
  EXPECT_EQ(node.cost, (StatedCost{.flops = 5}));
  EXPECT_EQ(graph.type(graph.output(b, 1)), type);
  EXPECT_EQ(graph.producer(graph.output(b, 1)).id, b);
  EXPECT_EQ(graph.ValueName(graph.output(b, 1)), "s/b:1");
  EXPECT_THAT(graph.uses(graph.output(a)),
              ElementsAre(Use{.node = b, .slot = 0}));
  EXPECT_THAT(graph.control_outputs(a), ElementsAre(b));
}

TEST(GraphTest, FindsNodesAndValuesByName) {
  const Graph graph = ChainGraph();
  EXPECT_EQ(graph.FindNode("opt/B1"), NodeId(7));
  EXPECT_EQ(graph.FindNode("B1"), std::nullopt);
  EXPECT_EQ(graph.FindValue("F2").value(), graph.output(NodeId(1)));
  EXPECT_EQ(graph.FindValue("F2:0").value(), graph.output(NodeId(1)));
  EXPECT_THAT(graph.FindValue("F9:0"),
              StatusIs(kInvalid, HasSubstr("no node named 'F9'")));
  EXPECT_THAT(graph.FindValue("F2:1"),
              StatusIs(kInvalid, HasSubstr("'F2:1' does not exist")));
  for (const char* text : {"F2:", "F2:x", "F2:-1", "F2:0x", "F2:1e3",
                           "F2:99999999999999999999999"}) {
    EXPECT_THAT(graph.FindValue(text),
                StatusIs(kInvalid, HasSubstr("names no value")))
        << text;
  }
}

TEST(GraphTest, UniqueNamesCountUp) {
  Graph graph;
  EXPECT_EQ(graph.UniqueName("conv"), "conv");
  AddPlanNode(graph, "conv", "Op", {});
  EXPECT_EQ(graph.UniqueName("conv"), "conv_1");
  AddPlanNode(graph, "conv_1", "Op", {});
  AddPlanNode(graph, "conv_3", "Op", {});
  EXPECT_EQ(graph.UniqueName("conv"), "conv_2");
  AddPlanNode(graph, "conv_2", "Op", {});
  EXPECT_EQ(graph.UniqueName("conv"), "conv_4");
  EXPECT_EQ(graph.UniqueName("conv_1"), "conv_1_1");
}

// Compares with the definition: the first free one of name_1, name_2, ...
TEST(GraphTest, UniqueNameIsTheFirstThatIsFree) {
  constexpr uint64_t kSeed = 17;
  std::mt19937_64 random(kSeed);
  Graph graph;
  std::set<std::string> taken;
  const std::string bases[] = {"a", "a_1", "a_1_1", "b_", "b_0", "b_01", "_"};
  for (int i = 0; i < 2000; ++i) {
    std::string name = bases[random() % std::size(bases)];
    if (random() % 2 == 0) name += fmt::format("_{}", random() % 300);
    std::string expected = name;
    for (int suffix = 1; taken.contains(expected); ++suffix) {
      expected = fmt::format("{}_{}", name, suffix);
    }
    ASSERT_EQ(graph.UniqueName(name), expected) << "seed " << kSeed;
    AddPlanNode(graph, expected, "Op", {});
    taken.insert(expected);
  }
}

TEST(GraphTest, UsesAreSortedHoweverTheyWereMade) {
  Graph graph;
  const NodeId a = AddPlanNode(graph, "a", "Op", {});
  const NodeId b = AddPlanNode(graph, "b", "Op", {});
  const NodeId c = AddPlanNode(graph, "c", "Op", {"a", "b"});
  const NodeId d = AddPlanNode(graph, "d", "Op", {"a", "b"});
  graph.SetInput({.node = d, .slot = 0}, graph.output(b));
  graph.SetInput({.node = c, .slot = 0}, graph.output(b));
  EXPECT_THAT(graph.uses(graph.output(a)), IsEmpty());
  EXPECT_THAT(graph.uses(graph.output(b)),
              ElementsAre(Use{c, 0}, Use{c, 1}, Use{d, 0}, Use{d, 1}));
  EXPECT_THAT(graph.node(c).inputs,
              ElementsAre(graph.output(b), graph.output(b)));
}

TEST(GraphTest, ControlEdgesAreKeptOnceAndSorted) {
  Graph graph;
  for (const char* name : {"a", "b", "c", "d"})
    AddPlanNode(graph, name, "Op", {});
  for (const int to : {3, 1, 2, 3, 1}) {
    graph.AddControlEdge(NodeId(0), NodeId(to));
  }
  graph.AddControlEdge(NodeId(2), NodeId(1));
  EXPECT_THAT(graph.control_outputs(NodeId(0)),
              ElementsAre(NodeId(1), NodeId(2), NodeId(3)));
  EXPECT_THAT(graph.node(NodeId(1)).control_inputs,
              ElementsAre(NodeId(0), NodeId(2)));
}

TEST(GraphTest, InputsMayComeLater) {
  Graph graph;
  const NodeId reader = graph.AddNode({.name = "reader", .op = "Op"});
  const NodeId late = AddPlanNode(graph, "late", "Op", {});
  graph.SetInputs(reader, std::vector<ValueId>{graph.output(late)});
  EXPECT_THAT(graph.node(reader).inputs, ElementsAre(graph.output(late)));
  EXPECT_THAT(graph.uses(graph.output(late)), ElementsAre(Use{reader, 0}));
}

TEST(GraphTest, SetsAnAttributeOfOneNodeOfOneGraph) {
  Graph graph;
  const NodeId a = graph.AddNode(
      {.name = "a", .op = "Op", .attributes = {{"k", 1}, {"l", 2}}});
  const Graph before = graph;
  graph.SetAttribute(a, "k", "text");
  graph.SetAttribute(a, "m", 3);
  EXPECT_EQ(graph.node(a).attributes,
            (Attributes{{"k", "text"}, {"l", 2}, {"m", 3}}));
  EXPECT_EQ(before.node(a).attributes, (Attributes{{"k", 1}, {"l", 2}}));
}

TEST(GraphDeathTest, MisuseIsCaught) {
  Graph graph = ChainGraph();
  EXPECT_DEATH(graph.AddNode({.name = "F1", .op = "Op"}), "is_new");
  EXPECT_DEATH(graph.AddNode({.name = "x", .op = "Op", .inputs = {ValueId()}}),
               "is_valid");
  EXPECT_DEATH(graph.AddControlEdge(NodeId(1), NodeId(1)), "from != to");
  const NodeId scalar = AddPlanNode(graph, "scalar", "Op", {}, TensorType());
  EXPECT_DEATH(
      graph.SetInput({.node = NodeId(1), .slot = 0}, graph.output(scalar)),
      "type");
}

// After random edits the use lists equal those collected from the inputs.
TEST(GraphTest, UseListsFollowRandomEdits) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Graph graph = RandomTrainingGraph({.seed = seed});
    std::mt19937_64 random(seed);
    for (int edit = 0; edit < 200; ++edit) {
      const ValueId from(random() % graph.num_values());
      const ValueId to(random() % graph.num_values());
      if (graph.uses(from).empty() || graph.type(from) != graph.type(to)) {
        continue;
      }
      graph.SetInput(graph.uses(from)[random() % graph.uses(from).size()], to);
    }
    std::map<ValueId, std::vector<Use>> expected;
    for (const Node& node : graph.nodes()) {
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
        expected[node.inputs[slot]].push_back(
            {node.id, static_cast<int32_t>(slot)});
      }
    }
    for (const ValueId value : graph.values().ids()) {
      EXPECT_EQ(graph.uses(value), expected[value]);
    }
  }
}

// Any quadratic step in building, ordering or checking would run for hours.
TEST(GraphTest, AHundredThousandNodesUnderOneHub) {
  constexpr int kNodes = 100'000;
  Graph graph;
  const NodeId hub = AddPlanNode(graph, "hub", "Op", {});
  const ValueId hub_output = graph.output(hub);
  ValueId last = hub_output;
  for (int i = 1; i < kNodes; ++i) {
    const NodeId id = graph.AddNode({.name = graph.UniqueName("hub"),
                                     .op = "Op",
                                     .inputs = {last, hub_output},
                                     .control_inputs = {hub},
                                     .outputs = {TensorType()}});
    last = graph.output(id);
  }
  const OpRegistry no_ops;
  ASSERT_THAT(VerifyGraph(graph, no_ops), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto levels, Levels(graph));
  EXPECT_EQ(levels[NodeId(kNodes - 1)], kNodes - 1);
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, no_ops, {}));
  EXPECT_EQ(schedule.order.size(), kNodes);
  EXPECT_EQ(schedule.step_of[NodeId(12345)], 12345);
}

}  // namespace
}  // namespace spillway

#include "lms/placement/place_on_host.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "graph/copies.h"
#include "graph/verify.h"
#include "gtest/gtest.h"
#include "lms/lms.h"
#include "lms/placement/verify_placement.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

NodeId NodeNamed(const Graph& graph, std::string_view name) {
  const auto found = graph.FindNode(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found.value_or(NodeId(0));
}

// Two dense layers and their training step with momentum.
Graph TwoLayers() {
  GraphBuilder g("two_layers");
  const Tensor x = g.Placeholder("x", DType::kFloat32, {8, 4});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {8});
  const Tensor hidden =
      Relu(g.Scope("relu"), Dense(g.Scope("first"), x, {.units = 6}));
  const Tensor logits = Dense(g.Scope("second"), hidden, {.units = 3});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum());
  return std::move(g).Build().value();
}

// The names of the nodes of these ops, in order of ids.
std::vector<std::string> NamesOf(const Graph& graph,
                                 const std::set<std::string>& ops) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (ops.contains(node.op)) names.push_back(node.name);
  }
  return names;
}

HostNodes Nodes(const Graph& graph, const std::vector<std::string>& names) {
  HostNodes host;
  host.nodes.resize(graph.num_nodes(), false);
  for (const std::string& name : names)
    host.nodes[NodeNamed(graph, name)] = true;
  return host;
}

// The first node that updates the variable.
std::string UpdateOf(const Graph& graph, std::string_view variable) {
  const ValueId value = graph.output(NodeNamed(graph, variable));
  for (const Use& use : graph.uses(value)) {
    const Node& reader = graph.node(use.node);
    if (reader.op == "ApplyMomentum") return reader.name;
  }
  ADD_FAILURE() << "no update of " << variable;
  return "";
}

std::vector<std::string> OnHost(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.placement == Placement::kHost) names.push_back(node.name);
  }
  return names;
}

TEST(PlaceOnHostTest, CopiesConnectTheTwoMemories) {
  const Graph original = TwoLayers();
  const std::vector<std::string> products = NamesOf(original, {"MatMul"});
  ASSERT_GE(products.size(), 2U);
  const std::string& second = products[1];  // reads the hidden values
  Graph placed = original;
  ASSERT_THAT(PlaceOnHost(Nodes(original, {second}), StandardOps(), placed),
              IsOk());
  EXPECT_THAT(VerifyGraph(placed, StandardOps()), IsOk());
  const Node& node = placed.node(NodeNamed(placed, second));
  EXPECT_EQ(node.placement, Placement::kHost);
  for (const ValueId input : node.inputs) {
    EXPECT_EQ(placed.producer(input).op, kCopyToHost);
  }
  ASSERT_EQ(placed.uses(node.outputs[0]).size(), 1U);
  EXPECT_EQ(placed.node(placed.uses(node.outputs[0])[0].node).op,
            kCopyToDevice);
  // The weights are updated on the device, so they stay there.
  EXPECT_THAT(OnHost(placed), Not(Contains("second/weights")));
  // Swaps can be planned for it as for any graph.
  EXPECT_THAT(ApplyLms({.mode = LmsMode::kV1}, placed), IsOk());
}

TEST(PlaceOnHostTest, AnUpdateTakesItsVariablesAlong) {
  const Graph original = TwoLayers();
  std::string weights;
  for (const Node& node : original.nodes()) {
    if (node.op == kVariable && node.name.starts_with("first/") &&
        original.type(node.outputs[0]).shape.rank() == 2) {
      weights = node.name;
    }
  }
  const std::string update = UpdateOf(original, weights);
  HostNodes host = Nodes(original, {update});
  AddRequired(original, StandardOps(), host);
  EXPECT_TRUE(host.variables.contains(weights));
  EXPECT_EQ(host.variables.size(), 2U);  // and its momentum
  Graph placed = original;
  ASSERT_THAT(PlaceOnHost(host, StandardOps(), placed), IsOk());
  // Each reader on the device has its own copy of the weights.
  int copies = 0;
  for (const Use& use :
       placed.uses(placed.output(NodeNamed(placed, weights)))) {
    const Node& reader = placed.node(use.node);
    if (reader.op != kCopyToDevice) continue;
    ++copies;
    EXPECT_EQ(placed.uses(reader.outputs[0]).size(), 1U);
  }
  EXPECT_GE(copies, 1);
  // Naming a variable asks for the same.
  HostNodes named = {.variables = {weights}};
  AddRequired(original, StandardOps(), named);
  EXPECT_EQ(named.nodes, host.nodes);
}

TEST(PlaceOnHostTest, TheWholeGraphNeedsOnlyCopiesOfItsFeeds) {
  const Graph original = TwoLayers();
  HostNodes host;
  host.nodes.resize(original.num_nodes(), true);
  Graph placed = original;
  ASSERT_THAT(PlaceOnHost(host, StandardOps(), placed), IsOk());
  for (size_t i = original.num_nodes(); i < placed.num_nodes(); ++i) {
    const Node& copy = placed.node(NodeId(i));
    EXPECT_EQ(copy.op, kCopyToHost);
    EXPECT_EQ(placed.producer(copy.inputs[0]).op, kPlaceholder);
  }
  EXPECT_EQ(placed.num_nodes(), original.num_nodes() + 2);
}

TEST(PlaceOnHostTest, NothingAskedForChangesNothing) {
  const Graph original = TwoLayers();
  Graph placed = original;
  ASSERT_THAT(PlaceOnHost({}, StandardOps(), placed), IsOk());
  EXPECT_EQ(placed.num_nodes(), original.num_nodes());
  EXPECT_THAT(OnHost(placed), ElementsAre());
}

TEST(PlaceOnHostTest, RefusesAnEditedGraph) {
  Graph graph = TwoLayers();
  const std::string product = NamesOf(graph, {"MatMul"})[1];
  Graph swapped = graph;
  swapped.AddNode({.name = "lms/swapout_x",
                   .op = std::string(kSwapOut),
                   .inputs = {swapped.output(NodeId(0))},
                   .outputs = {swapped.type(swapped.output(NodeId(0)))},
                   .placement = Placement::kHost});
  EXPECT_THAT(PlaceOnHost({}, StandardOps(), swapped),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("edited for LMS already")));
  ASSERT_THAT(PlaceOnHost(Nodes(graph, {product}), StandardOps(), graph),
              IsOk());
  EXPECT_THAT(PlaceOnHost({}, StandardOps(), graph),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has nodes on the host already")));
}

struct Spoil {
  std::string name;
  std::function<void(Graph&)> apply;
  std::string message;
};

TEST(VerifyPlacementTest, NamesWhatIsWrong) {
  const Graph original = TwoLayers();
  const std::string product = NamesOf(original, {"MatMul"})[1];
  Graph whole = original;
  ASSERT_THAT(PlaceOnHost(Nodes(original, {product}), StandardOps(), whole),
              IsOk());
  ASSERT_THAT(VerifyPlacement(original, whole, StandardOps()), IsOk());
  const NodeId id = NodeNamed(whole, product);
  const std::vector<Spoil> spoils = {
      {"a device tensor is read on the host",
       [&](Graph& g) {
         g.SetInput({id, 0}, original.node(id).inputs[0]);
       },
       "other memory"},
      {"a reader reads the host's tensor",
       [&](Graph& g) {
         const NodeId copy = g.uses(g.output(id))[0].node;
         const Use use = g.uses(g.output(copy))[0];
         g.SetInput(use, g.output(id));
       },
       "other memory"},
      {"a node moves without copies",
       [&](Graph& g) { g.SetPlacement(id, Placement::kDevice); },
       "other memory"},
      {"a control edge is added",
       [&](Graph& g) {
         g.AddControlEdge(NodeId(0), NodeNamed(g, NamesOf(g, {"Relu"})[0]));
       },
       "changed more than the memory"},
      {"an attribute changes",
       [&](Graph& g) { g.SetAttribute(id, "other", true); },
       "changed more than the memory"},
      {"a node is added",
       [&](Graph& g) {
         g.AddNode({.name = "more",
                    .op = "Identity",
                    .inputs = {g.output(NodeId(0))},
                    .outputs = {g.type(g.output(NodeId(0)))}});
       },
       "not a copy"},
      {"the weights are copied after their update",
       [&](Graph& g) {
         const Node node = g.node(id);
         for (const ValueId input : node.inputs) {
           const Node copy = g.producer(input);
           if (g.producer(copy.inputs[0]).op != kVariable) continue;
           const ValueId variable = copy.inputs[0];
           const std::string update = UpdateOf(g, g.producer(variable).name);
           // A second copy, which the update precedes, with another reader.
           const NodeId late = g.AddNode({.name = "late",
                                          .op = std::string(kCopyToHost),
                                          .inputs = {variable},
                                          .outputs = {g.type(variable)},
                                          .placement = Placement::kHost});
           g.AddControlEdge(NodeNamed(g, update), late);
           for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
             if (node.inputs[slot] != input) continue;
             g.SetInput({id, static_cast<int32_t>(slot)}, g.output(late));
             return;
           }
         }
       },
       ""},  // the node before the update now waits for it: a cycle
  };
  for (const Spoil& spoil : spoils) {
    SCOPED_TRACE(spoil.name);
    Graph spoilt = whole;
    spoil.apply(spoilt);
    const absl::Status status =
        VerifyPlacement(original, spoilt, StandardOps());
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(spoil.message));
  }
}

}  // namespace
}  // namespace spillway

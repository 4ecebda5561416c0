#include "graph/format/json_format.h"

#include <fmt/format.h>

#include <limits>

#include "base/file.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/paths.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::RandomTrainingGraph;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Compares every field of every node, value and list of neighbours.
void ExpectEqual(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  ASSERT_EQ(a.num_values(), b.num_values());
  for (const Node& node : a.nodes()) {
    const Node& other = b.node(node.id);
    SCOPED_TRACE(node.name);
    EXPECT_EQ(node.name, other.name);
    EXPECT_EQ(node.op, other.op);
    EXPECT_EQ(node.control_inputs, other.control_inputs);
    EXPECT_EQ(node.attributes, other.attributes);
    EXPECT_EQ(node.placement, other.placement);
    EXPECT_EQ(node.cost, other.cost);
    EXPECT_EQ(a.control_outputs(node.id), b.control_outputs(node.id));
    ASSERT_EQ(node.inputs.size(), other.inputs.size());
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      EXPECT_EQ(a.ValueName(node.inputs[slot]),
                b.ValueName(other.inputs[slot]));
    }
    ASSERT_EQ(node.outputs.size(), other.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      EXPECT_EQ(a.type(node.outputs[i]), b.type(other.outputs[i]));
      EXPECT_EQ(a.uses(node.outputs[i]), b.uses(other.outputs[i]));
    }
  }
}

TEST(FormatGraphTest, WritesOneNodeALine) {
  Graph graph("tiny");
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2, 3}};
  const NodeId x =
      graph.AddNode({.name = "x", .op = "Plan", .outputs = {type}});
  graph.AddNode({.name = "s/y",
                 .op = "Plan",
                 .inputs = {graph.output(x)},
                 .control_inputs = {x},
                 .attributes = {{"k", {1, 2.0, true, "t", {}}}},
                 .placement = Placement::kHost,
                 .cost = StatedCost{.flops = 1e9, .time_us = 2.5}});
  EXPECT_EQ(FormatGraph(graph),
            R"({"format": "spillway.graph", "version": 1, "name": "tiny",
"nodes": [
{"name":"x","op":"Plan","inputs":[],"outputs":[{"dtype":"float32","shape":[2,3]}]},
{"name":"s/y","op":"Plan","inputs":["x:0"],"control_inputs":["x"],"device":"host","attrs":{"k":[1,2.0,true,"t",null]},"outputs":[],"cost":{"flops":1000000000.0,"bytes":0.0,"workspace_bytes":0,"time_us":2.5}}
]}
)");
}

TEST(FormatGraphTest, AnEmptyGraphParsesBack) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(FormatGraph(Graph("none")),
                                                     "text", ScalarOps()));
  EXPECT_EQ(graph.name(), "none");
  EXPECT_EQ(graph.num_nodes(), 0);
}

TEST(FormatGraphTest, TextAndNumbersSurvive) {
  Graph graph("a \"graph\"\n\xC3\xA9");
  graph.AddNode(
      {.name = "n\"\\\xC3\xA9",
       .op = "Plan",
       .attributes = {
           {"", "empty name"},
           {"text", "tab\t, nul\x01, quote\""},
           {"least", std::numeric_limits<int64_t>::min()},
           {"most", std::numeric_limits<int64_t>::max()},
           {"third", 1.0 / 3},
           {"tiny", std::numeric_limits<double>::denorm_min()},
           {"huge", std::numeric_limits<double>::max()},
           {"negative_zero", -0.0},
           {"real", 7.0},
           {"list", AttributeValue::List()},
           {"object", AttributeValue::Object{{"deep", {{1, 2}, {}}}}}}});
  ASSERT_OK_AND_ASSIGN(const Graph parsed,
                       ParseGraph(FormatGraph(graph), "text", ScalarOps()));
  ExpectEqual(graph, parsed);
}

TEST(FormatGraphTest, BytesThatAreNotUtf8DoNoHarm) {
  Graph graph("\xff");
  EXPECT_THAT(ParseGraph(FormatGraph(graph), "text", ScalarOps()), IsOk());
}

TEST(FormatGraphTest, ParsesBackToAnEqualGraph) {
  const OpRegistry registry = ScalarOps();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Graph graph = RandomTrainingGraph({.seed = seed, .forward_nodes = 15});
    // As after an edit: earlier nodes read new nodes at the end.
    for (int32_t i = 0; i < 10; ++i) {
      const ValueId value(i);
      const std::vector<Use> uses = graph.uses(value);
      const NodeId copy = graph.AddNode({.name = fmt::format("copy{}", i),
                                         .op = "SwapIn",
                                         .inputs = {value},
                                         .outputs = {graph.type(value)},
                                         .placement = Placement::kHost});
      graph.AddControlEdge(graph.value(value).producer, copy);
      if (!uses.empty()) graph.SetInput(uses.back(), graph.output(copy));
    }
    const std::string text = FormatGraph(graph);
    ASSERT_OK_AND_ASSIGN(const Graph parsed,
                         ParseGraph(text, "text", registry));
    ExpectEqual(graph, parsed);
    EXPECT_EQ(FormatGraph(parsed), text);
  }
}

TEST(ParseGraphTest, InfersOutputsWhateverTheOrder) {
  const char* text = R"({
    "format": "spillway.graph", "version": 1, "metadata": {"by": ["hand"]},
    "nodes": [
      {"name": "z", "op": "Add", "inputs": ["y:1", "x"],
       "control_inputs": ["x", "y", "x"]},
      {"name": "y", "op": "SinCos", "inputs": ["p"]},
      {"name": "x", "op": "Placeholder",
       "attrs": {"dtype": "float32", "shape": [4, 5]}},
      {"name": "p", "op": "Plan", "device": "device",
       "outputs": [{"dtype": "float32", "shape": [4, 5]}]}]})";
  ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(text, "t", ScalarOps()));
  EXPECT_EQ(graph.name(), "graph");
  EXPECT_EQ(graph.node(NodeId(0)).name, "z");
  EXPECT_EQ(graph.type(graph.output(NodeId(0))).shape, Shape({4, 5}));
  EXPECT_EQ(graph.ValueName(graph.node(NodeId(0)).inputs[0]), "y:1");
  EXPECT_EQ(graph.node(NodeId(1)).outputs.size(), 2);
  EXPECT_EQ(graph.node(NodeId(0)).control_inputs.size(), 2);
}

TEST(ParseGraphTest, ReadersBesideAnUpdateAreRefused) {
  const char* text = R"({"format": "spillway.graph", "version": 1, "nodes": [
      {"name": "w", "op": "Variable", "attrs": {"dtype": "float32", "shape": []}},
      {"name": "read", "op": "Negate", "inputs": ["w"]},
      {"name": "update", "op": "Assign", "inputs": ["w", "w"]}]})";
  EXPECT_THAT(ParseGraph(text, "file", ScalarOps()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("file: "), HasSubstr("read"),
                             HasSubstr("update"))));
}

TEST(ReadGraphFileTest, ReadsWhatWasWritten) {
  const std::string path = ::testing::TempDir() + "/graph.json";
  const Graph graph = RandomTrainingGraph({.seed = 3});
  ASSERT_THAT(WriteFileAtomically(path, FormatGraph(graph)), IsOk());
  ASSERT_OK_AND_ASSIGN(const Graph read, ReadGraphFile(path, ScalarOps()));
  ExpectEqual(graph, read);
}

TEST(ReadGraphFileTest, NamesTheFileThatIsMissing) {
  EXPECT_THAT(
      ReadGraphFile("/no/such/graph.json", ScalarOps()),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/graph.json")));
}

// The documented examples are the texts between ```json and ```.
TEST(DocumentationTest, EveryExampleIsAGraph) {
  ASSERT_OK_AND_ASSIGN(const std::string page,
                       ReadFile(testing::SourcePath("docs/graph_file.md")));
  const std::string open = "```json\n";
  int num_examples = 0;
  for (size_t at = page.find(open); at != std::string::npos;
       at = page.find(open, at)) {
    at += open.size();
    const std::string text = page.substr(at, page.find("```", at) - at);
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         ParseGraph(text, "example", ScalarOps()));
    EXPECT_GE(graph.num_nodes(), 3);
    ++num_examples;
  }
  EXPECT_EQ(num_examples, 2);
}

}  // namespace
}  // namespace spillway

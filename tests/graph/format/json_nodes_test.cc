// Every malformed graph file is refused with file, node and field. Here is one
// text for each kind of error.
#include "graph/format/json_nodes.h"

#include "graph/format/json_format.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct BadText {
  std::string text;
  std::string error;  // part of the message
};

void ExpectRefused(const std::string& text, const std::string& error) {
  EXPECT_THAT(ParseGraph(text, "bad.json", ScalarOps()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("bad.json"), HasSubstr(error),
                             Not(HasSubstr("\n")))))
      << text;
}

std::string Header(const std::string& nodes) {
  return R"({"format": "spillway.graph", "version": 1, "nodes": [)" + nodes +
         "]}";
}

TEST(MalformedGraphFileTest, NotJson) {
  const BadText cases[] = {
      {"", ""},
      {"{", ""},
      {"nodes", ""},
      {Header(R"({"name": "a")"), ""},
      {Header("") + "x", ""},
      {std::string(100000, '['), "nested deeper"},
      {Header(R"({"name": "a", "name": "b"})"), "twice"},
      {Header("{\"name\": \"\xff\"}"), ""},
      {Header(R"({"name": "a", "op": "P", "attrs": {"x": 1e999}})"), ""},
      {Header(R"({"name": "a", "op": "P", "attrs": {"x": NaN}})"), ""},
  };
  for (const auto& [text, error] : cases) ExpectRefused(text, error);
}

TEST(MalformedGraphFileTest, Header) {
  const BadText cases[] = {
      {"[]", "bad.json: must be an object, not an empty list"},
      {"{}", "field \"format\" is missing"},
      {R"({"format": "other", "version": 1, "nodes": []})",
       R"(field "format" must be "spillway.graph", not "other")"},
      {R"({"format": 3, "version": 1, "nodes": []})", "field \"format\""},
      {R"({"format": "spillway.graph", "nodes": []})", "field \"version\""},
      {R"({"format": "spillway.graph", "version": 2, "nodes": []})",
       "field \"version\" must be 1, not 2"},
      {R"({"format": "spillway.graph", "version": "1", "nodes": []})",
       "field \"version\""},
      {R"({"format": "spillway.graph", "version": 1.0, "nodes": []})",
       "field \"version\""},
      {R"({"format": "spillway.graph", "version": 1})",
       "field \"nodes\" is missing"},
      {R"({"format": "spillway.graph", "version": 1, "nodes": {}})",
       "field \"nodes\""},
      {R"({"format": "spillway.graph", "version": 1, "name": 1, "nodes": []})",
       "field \"name\" must be text, not 1"},
      {R"({"format": "spillway.graph", "version": 1, "node": []})",
       R"(unknown field "node")"},
  };
  for (const auto& [text, error] : cases) ExpectRefused(text, error);
}

TEST(MalformedGraphFileTest, NodesWithoutAGoodName) {
  const BadText cases[] = {
      {"7", "node 0 of the list: must be an object, not 7"},
      {R"({"op": "P"})", "node 0 of the list: field \"name\" is missing"},
      {R"({"name": 7, "op": "P"})",
       "node 0 of the list: field \"name\" must be text, not 7"},
      {R"({"name": "", "op": "P"})", "field \"name\": a node's name is empty"},
      {R"({"name": "a:0", "op": "P"})", "field \"name\": the name"},
      {R"({"name": "a b", "op": "P"})", "field \"name\": the name"},
      {R"({"name": "a\nb", "op": "P"})", "field \"name\": the name"},
      {R"({"name": "a\u0000b", "op": "P"})", "field \"name\": the name"},
      {R"({"name": "a", "op": "P", "outputs": []},
          {"name": "a", "op": "P", "outputs": []})",
       "node 'a': field \"name\": another node has this name"},
  };
  for (const auto& [node, error] : cases) ExpectRefused(Header(node), error);
}

// Each case is the rest of a node named "n" of the plan-only op "P".
TEST(MalformedGraphFileTest, Fields) {
  const BadText cases[] = {
      {R"("input": [])", R"(unknown field "input")"},
      {R"("inputs": "x")", "field \"inputs\" must be a list, not \"x\""},
      {R"("inputs": [1])",
       "field \"inputs\" must be a list of texts; it has 1"},
      {R"("control_inputs": {})", "field \"control_inputs\" must be a list"},
      {R"("control_inputs": [null])",
       "field \"control_inputs\" must be a list of texts"},
      {R"("device": "gpu")",
       R"(field "device" must be "device" or "host", not "gpu")"},
      {R"("device": 0)", "field \"device\" must be text"},
      {R"("attrs": [])", "field \"attrs\" must be an object"},
      {R"("attrs": {"big": 18446744073709551615})",
       R"(attrs: field "big": 18446744073709551615 does not fit)"},
      {R"("attrs": {"big": [[9223372036854775808]]})",
       R"(attrs: field "big": 9223372036854775808 does not fit)"},
      {R"("outputs": {})", "field \"outputs\" must be a list"},
      {R"("outputs": [[]])", "outputs[0] must be an object, not an empty list"},
      {R"("outputs": [{"dtype": "float32", "shape": [1], "x": 0}])",
       R"(outputs[0]: unknown field "x"; known are: "dtype", "shape")"},
      {R"("outputs": [{"shape": [1]}])",
       "outputs[0]: field \"dtype\" is missing"},
      {R"("outputs": [{"dtype": "float64", "shape": [1]}])",
       R"(field "dtype" must be the name of a dtype, not "float64")"},
      {R"("outputs": [{"dtype": "float32"}])", "field \"shape\" is missing"},
      {R"("outputs": [{"dtype": "float32", "shape": 4}])",
       "field \"shape\" must be a list, not 4"},
      {R"("outputs": [{"dtype": "float32", "shape": [1.5]}])",
       "field \"shape\" must be a list of integers; it has 1.5"},
      {R"("outputs": [{"dtype": "float32", "shape": ["1"]}])",
       "field \"shape\" must be a list of integers; it has \"1\""},
      {R"("outputs": [{"dtype": "float32", "shape": [-1]}])",
       "field \"shape\": dimension -1"},
      {R"("outputs": [{"dtype": "float32", "shape": [0]}])",
       "field \"shape\": dimension 0"},
      {R"("outputs": [{"dtype": "int32", "shape": [1]},
                      {"dtype": "int32", "shape": [4294967296, 4294967296]}])",
       "outputs[1]: field \"shape\": shape"},
      {R"("outputs": [{"dtype": "int32", "shape": [99999999999999999999]}])",
       "field \"shape\" must be a list of integers; it has 1e+20"},
      {R"("outputs": [{"dtype": "int32", "shape": [1,1,1,1,1,1,1,1,1]}])",
       "field \"shape\": a shape has at most 8"},
      {R"("cost": 5)", "field \"cost\" must be an object, not 5"},
      {R"("cost": {"flop": 5})",
       R"(cost: unknown field "flop"; known are: "flops", "bytes")"},
      {R"("cost": {"flops": "5"})",
       "cost: field \"flops\" must be a number, not \"5\""},
      {R"("cost": {"workspace_bytes": 1.5})",
       "cost: field \"workspace_bytes\" must be an integer, not 1.5"},
  };
  for (const auto& [fields, error] : cases) {
    const std::string text =
        Header(R"({"name": "n", "op": "P", )" + fields + "}");
    ExpectRefused(text, error);
    ExpectRefused(text, R"(node "n": )");
  }
}

// These errors are found after the fields are read; the node is named `n`
// again.
TEST(MalformedGraphFileTest, Meaning) {
  const std::string x =
      R"({"name": "x", "op": "P", "outputs": [{"dtype": "bool", "shape": []}]},)";
  const BadText cases[] = {
      {R"("op": "")", "field \"op\" is empty"},
      {R"("op": "P")", "field \"outputs\": must be stated, since the op 'P'"},
      {R"("op": "P", "outputs": [], "inputs": ["y"])",
       R"(field "inputs": there is no node named "y")"},
      {R"("op": "P", "outputs": [], "inputs": ["x:1"])",
       "field \"inputs\": there is no x:1; the node has 1 output"},
      {R"("op": "P", "outputs": [], "inputs": ["x:-1"])",
       "field \"inputs\": \"x:-1\": expected <node>:<output index>"},
      {R"("op": "P", "outputs": [], "inputs": ["x:"])", "field \"inputs\""},
      {R"("op": "P", "outputs": [], "inputs": [""])", "field \"inputs\""},
      {R"("op": "P", "outputs": [], "inputs": ["x:99999999999999999999"])",
       "field \"inputs\""},
      {R"("op": "P", "outputs": [], "inputs": ["x:4294967296"])",
       "there is no x:4294967296"},
      {R"("op": "P", "outputs": [], "control_inputs": ["x:0"])",
       R"(field "control_inputs": there is no node named "x:0")"},
      {R"("op": "P", "outputs": [], "control_inputs": ["n"])",
       "field \"control_inputs\": the node cannot wait for itself"},
      {R"("op": "P", "outputs": [], "cost": {"flops": -1})", "cost: flops"},
      {R"("op": "P", "outputs": [], "cost": {"time_us": 1e300})",
       "cost: time_us"},
      {R"("op": "Negate", "inputs": ["x"], "attrs": {"k": 1})",
       "Negate has no attribute 'k'"},
      {R"("op": "Add", "inputs": ["x"])", "Add takes 2 inputs (a, b); 1 given"},
      {R"("op": "Negate", "inputs": ["x:7"])", "there is no x:7"},
      {R"("op": "Negate", "inputs": ["x"],
          "outputs": [{"dtype": "bool", "shape": [2]}])",
       "outputs[0] is bool[2], but Negate makes bool[]"},
      {R"("op": "Placeholder", "attrs": {"dtype": "bool", "shape": [0]})",
       "attribute 'shape'"},
  };
  for (const auto& [fields, error] : cases) {
    const std::string text = Header(x + R"({"name": "n", )" + fields + "}");
    ExpectRefused(text, error);
    ExpectRefused(text, "n");
  }
}

TEST(MalformedGraphFileTest, Cycles) {
  const BadText cases[] = {
      // By inputs, with stated outputs; a node reads itself.
      {R"({"name": "a", "op": "P", "inputs": ["a"],
           "outputs": [{"dtype": "bool", "shape": []}]})",
       "cycle: a -> a"},
      // By inputs, where outputs cannot be inferred; another node depends on
      // the cycle.
      {R"({"name": "tail", "op": "Negate", "inputs": ["a"]},
          {"name": "a", "op": "Negate", "inputs": ["b"]},
          {"name": "b", "op": "Negate", "inputs": ["a"]})",
       "cycle: a -> b -> a"},
      // By control edges.
      {R"({"name": "a", "op": "P", "outputs": [], "control_inputs": ["b"]},
          {"name": "b", "op": "P", "outputs": [], "control_inputs": ["a"]})",
       "cycle: a -> b -> a"},
  };
  for (const auto& [nodes, error] : cases) ExpectRefused(Header(nodes), error);
}

// No proper prefix of a good file is valid, and none crashes the reader.
TEST(MalformedGraphFileTest, TruncatedAnywhere) {
  const std::string text = Header(
      R"({"name": "x", "op": "P", "inputs": [], "attrs": {"k": [1, 2.5]},
          "outputs": [{"dtype": "bool", "shape": [2, 3]}]})");
  ASSERT_THAT(ParseGraph(text, "good.json", ScalarOps()), testing::IsOk());
  for (size_t size = 0; size < text.size(); ++size) {
    ExpectRefused(text.substr(0, size), "");
  }
}

// One byte replaced by another: refused or accepted, but never a crash.
TEST(MalformedGraphFileTest, AnyByteChanged) {
  const std::string good = Header(
      R"({"name": "x", "op": "P", "outputs": [{"dtype": "bool", "shape": [2]}]},
         {"name": "n", "op": "Negate", "inputs": ["x:0"],
          "control_inputs": ["x"], "cost": {"time_us": 12}})");
  int num_accepted = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char byte : std::string_view("\"\\{}[],:0-9xe \n\xff", 17)) {
      std::string text = good;
      text[i] = byte;
      const auto graph = ParseGraph(text, "bad.json", ScalarOps());
      num_accepted += graph.ok() ? 1 : 0;
      if (!graph.ok()) {
        EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument)
            << text;
      }
    }
  }
  EXPECT_GT(num_accepted, 0);  // white space, names and digits
}

}  // namespace
}  // namespace spillway

#include "graph/passes/remove_dead_nodes.h"

#include <vector>

#include "graph/format/json_format.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::ScalarOps;

constexpr std::string_view kHeader =
    R"({"format": "spillway.graph", "version": 1, "name": "g", "nodes": [)";

// `nodes` are lines of a graph file; every op in it makes a float32 scalar.
Graph Parse(const std::string& nodes) {
  absl::StatusOr<Graph> graph =
      ParseGraph(std::string(kHeader) + nodes + "]}", "text", ScalarOps());
  EXPECT_THAT(graph, testing::IsOk());
  return graph.ok() ? *std::move(graph) : Graph();
}

// The remaining nodes of `graph`, as a graph file.
std::string Optimize(const Graph& graph, const std::vector<ValueId>& keep) {
  constexpr Pass kPass = {"remove", "", RemoveDeadNodes};
  const auto result = RunPasses(graph, ScalarOps(), std::vector{kPass}, keep);
  EXPECT_THAT(result, testing::IsOk());
  return result.ok() ? FormatGraph(result->graph) : "";
}

constexpr char kX[] =
    R"({"name": "x", "op": "Placeholder", "attrs": {"dtype": "float32",
        "shape": []}},)";
constexpr char kW[] =
    R"({"name": "w", "op": "Variable", "attrs": {"dtype": "float32",
        "shape": []}},)";

TEST(RemoveDeadNodesTest, KeepsFetchesUpdatesAndWhatTheyNeed) {
  // `first` waits for `trigger`, which stays only for that edge; an earlier
  // node reads `late`.
  const std::string update =
      R"({"name": "update", "op": "Assign", "inputs": ["w", "late"]},)";
  const std::string trigger =
      R"({"name": "trigger", "op": "Negate", "inputs": ["x"]},)";
  const std::string first =
      R"({"name": "first", "op": "Plan", "inputs": ["x:0"], "device": "host",
          "control_inputs": ["trigger"], "attrs": {"k": 1},
          "outputs": [{"dtype": "int32", "shape": [3]}],
          "cost": {"time_us": 5}},)";
  const std::string late =
      R"({"name": "late", "op": "Negate", "inputs": ["x"]})";
  const Graph graph = Parse(
      std::string(kX) + R"({"name": "dead1", "op": "Negate", "inputs": ["x"],
                            "control_inputs": ["trigger"]},)" +
      kW + update + R"({"name": "dead2", "op": "Negate", "inputs": ["first2"]},
                       {"name": "first2", "op": "Negate", "inputs": ["x"]},)" +
      trigger + first + late);
  const Graph expected =
      Parse(std::string(kX) + kW + update + trigger + first + late);
  EXPECT_EQ(Optimize(graph, {*graph.FindValue("first")}),
            FormatGraph(expected));
}

TEST(RemoveDeadNodesTest, WithNothingToGoByKeepsAll) {
  const Graph graph = Parse(
      std::string(kX) + R"({"name": "y", "op": "Negate", "inputs": ["x"]})");
  EXPECT_EQ(Optimize(graph, {}), FormatGraph(graph));
}

}  // namespace
}  // namespace spillway

// Feeds arbitrary bytes to the reader of plan files, for one small graph. A
// plan that it accepts must be written and read back identically, and applied
// to the graph without a crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "graph/format/json_format.h"
#include "tests/fuzz/fuzz_input.h"
#include "tuner/model/step_recipe.h"
#include "tuner/saved_plan.h"

namespace {

// A chain of plan-only nodes and its backward phase: the graph of the seeds in
// corpus/saved_plan.
constexpr std::string_view kGraph = R"({
"format": "spillway.graph", "version": 1, "nodes": [
{"name": "f1", "op": "A", "outputs": [{"dtype": "float32", "shape": [64]}]},
{"name": "f2", "op": "A", "inputs": ["f1"], "outputs": [{"dtype": "float32", "shape": [64]}]},
{"name": "f3", "op": "A", "inputs": ["f2"], "outputs": [{"dtype": "float32", "shape": [64]}]},
{"name": "o/gradients/b3", "op": "B", "inputs": ["f3", "f2"], "outputs": [{"dtype": "float32", "shape": [64]}]},
{"name": "o/gradients/b2", "op": "B", "inputs": ["o/gradients/b3", "f1"], "outputs": [{"dtype": "float32", "shape": [64]}]}
]})";

const spillway::Graph& TheGraph() {
  static const auto graph =
      spillway::ParseGraph(kGraph, "<graph>", spillway::OpRegistry());
  SPILLWAY_CHECK(graph.ok());
  return *graph;
}

}  // namespace

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const spillway::Graph& graph = TheGraph();
  const auto plan = spillway::ParseSavedPlan(spillway::FuzzInput(data, size),
                                             "<fuzz>", graph);
  if (!plan.ok()) return 0;
  const auto written = spillway::FormatSavedPlan(*plan, graph);
  SPILLWAY_CHECK(written.ok());
  const auto again = spillway::ParseSavedPlan(*written, "<written>", graph);
  SPILLWAY_CHECK(again.ok());
  SPILLWAY_CHECK(spillway::FormatSavedPlan(*again, graph).value() == *written);
  static_cast<void>(spillway::ApplyRecipe(plan->recipe, graph).ok());
  return 0;
}

#include "tests/lms/v2/random_v2_case.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::testing {

Graph RandomV2Case::MakeGraph(bool with_loops) {
  Graph graph("random");
  const int size = 3 + Below(Below(3) == 0 ? 60 : 24);
  // Some of the graphs are mostly chains, so they have many levels.
  const int width = 1 + Below(6);
  const bool loops = Below(4) == 0 && with_loops;
  for (int i = 0; i < size; ++i) AddOp(graph, i, width, loops);
  return graph;
}

LmsOptions RandomV2Case::MakeOptions(const Graph& graph) {
  LmsOptions options{.mode = LmsMode::kV2, .compat = true};
  options.v2.swapout_threshold = 1 + Below(4);
  options.v2.swapin_ahead = 1 + Below(Below(3) == 0 ? 12 : 3);
  options.v2.swapin_groupby = Below(3) == 0 ? Below(5) : 0;
  options.v2.sync_mode = Below(4);
  options.v2.is_training = Below(8) != 0;
  options.debug_level = Below(3);
  if (Below(5) == 0) options.size_threshold_bytes = Below(300);
  for (int i = Below(3); i > 0; --i) {
    options.v2.serialization.push_back(RandomSlice());
  }
  if (Below(4) == 0) {
    options.v2.serialization_by_size_gib =
        (1 + Below(3000)) / 1024.0 / 1024.0 / 1024.0;
  }
  RandomFilter(graph, 8, options.v2.excl_output_by_scopes,
               options.v2.excl_output_by_types);
  RandomFilter(graph, 8, options.v2.excl_input_by_scopes,
               options.v2.excl_input_by_types);
  RandomFilter(graph, 12, options.v2.incl_output_by_scopes,
               options.v2.incl_output_by_types);
  RandomFilter(graph, 12, options.v2.incl_input_by_scopes,
               options.v2.incl_input_by_types);
  return options;
}

int RandomV2Case::Below(int limit) {
  return static_cast<int>(random_() % static_cast<uint32_t>(limit));
}

std::string RandomV2Case::RandomName(const Graph& graph, int i, bool loops) {
  const std::vector<std::string> scopes = {
      "a",       "a",    "b",       "b/c",        "m/cond",
      "my_loss", "main", "w/while", "v/Variable", "w/while"};
  const int kinds = static_cast<int>(scopes.size()) - (loops ? 0 : 3);
  if (i > 0 && Below(12) == 0) {
    std::string assign = graph.node(NodeId(Below(i))).name + "/Assign";
    if (!graph.FindNode(assign)) return assign;
  }
  const int kind = Below(3) == 0 ? Below(kinds) : 0;
  return fmt::format("{}/n{}", scopes[static_cast<size_t>(kind)], i);
}

std::string RandomV2Case::RandomType() {
  const std::vector<std::string> types = {
      "Identity",      "Const",          "Variable",
      "VariableV2",    "FusedBatchNorm", "AssignSubVariableOp",
      "ApplyMomentum", "AssignAdd",      "Merge",
      "Switch",        "NextIteration",  "LoopCond",
      "Enter",         "Exit",           "ReadVariableOp"};
  if (Below(3) != 0) return "Conv";
  return types[static_cast<size_t>(Below(static_cast<int>(types.size())))];
}

void RandomV2Case::AddOp(Graph& graph, int i, int width, bool loops) {
  NodeSpec spec{.name = RandomName(graph, i, loops), .op = RandomType()};
  for (int slot = i == 0 ? 0 : Below(4); slot > 0; --slot) {
    const int back = Below(4) == 0 ? Below(i) : std::min(Below(width), i - 1);
    const Node& producer = graph.node(NodeId(i - 1 - back));
    if (producer.outputs.empty()) continue;
    spec.inputs.push_back(producer.outputs[static_cast<size_t>(Below(2)) %
                                           producer.outputs.size()]);
  }
  while (i > 0 && Below(6) == 0) {
    spec.control_inputs.push_back(NodeId(Below(i)));
  }
  for (int output = 1 + Below(8) / 7 - Below(12) / 11; output > 0; --output) {
    Shape shape = {1 + Below(4), 16};
    if (Below(6) == 0) shape = {16};
    if (Below(9) == 0) shape = {2, 3, 4};
    spec.outputs.push_back({.dtype = DType::kFloat32, .shape = shape});
  }
  if (spec.op == "FusedBatchNorm") {
    spec.attributes.Set("is_training", Below(3) != 0);
  }
  if (spec.op == "Variable" && i % 3 == 0) {
    spec.attributes.Set("trainable", false);
  }
  if (Below(8) == 0) spec.placement = Placement::kHost;
  graph.AddNode(spec);
}

std::string RandomV2Case::RandomSlice() {
  const auto number = [&](int limit) {
    return Below(3) == 0 ? "" : fmt::format("{}", Below(2 * limit) - limit);
  };
  if (Below(2) == 0) return fmt::format("{}", Below(14) - 3);
  std::string slice = number(10) + ":" + number(10);
  if (Below(3) == 0) slice += Below(2) == 0 ? ":2" : ":-1";
  return slice;
}

void RandomV2Case::RandomFilter(const Graph& graph, int rarity,
                                std::vector<std::string>& scopes,
                                std::vector<std::string>& types) {
  const auto size = static_cast<int>(graph.num_nodes());
  if (Below(rarity) == 0) {
    const std::string& name = graph.node(NodeId(Below(size))).name;
    scopes.push_back(name.substr(0, 1 + static_cast<size_t>(Below(4))));
  }
  if (Below(rarity) == 0) {
    types.push_back(graph.node(NodeId(Below(size))).op);
  }
}

}  // namespace spillway::testing

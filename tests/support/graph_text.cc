#include "tests/support/graph_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace spillway::testing {
namespace {

std::string InputText(const Graph& graph, ValueId id) {
  const std::string& name = graph.producer(id).name;
  const int32_t index = graph.value(id).index;
  return index == 0 ? name : fmt::format("{}:{}", name, index);
}

std::string NodeText(const Graph& graph, const Node& node) {
  std::vector<std::string> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(InputText(graph, id));
  std::string text =
      fmt::format("{} = {}({})", node.name, node.op, fmt::join(inputs, ", "));
  const auto activation = node.attributes.GetString("activation", "");
  if (activation.ok() && !activation->empty()) {
    text += fmt::format(" {{activation={}}}", *activation);
  }
  for (const NodeId before : node.control_inputs) {
    text += fmt::format(" ^{}", graph.node(before).name);
  }
  return text;
}

}  // namespace

std::string GraphText(const Graph& graph, const std::set<std::string>& ops) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    if (!ops.empty() && !ops.contains(node.op)) continue;
    text += NodeText(graph, node) + "\n";
  }
  return text;
}

}  // namespace spillway::testing

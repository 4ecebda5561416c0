#include "graph/format/dot.h"

#include <fmt/format.h>

#include <iterator>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

constexpr std::string_view kSwapOutColor = "orange";
constexpr std::string_view kSwapInColor = "skyblue";
constexpr std::string_view kCloneColor = "palegreen";

// Escapes `text` for a quoted string of the dot language.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string NodeStyle(const Node& node) {
  if (node.op == kSwapOut) {
    return fmt::format(", style=filled, fillcolor={}", kSwapOutColor);
  }
  if (node.op == kSwapIn) {
    return fmt::format(", style=filled, fillcolor={}", kSwapInColor);
  }
  if (IsCloneName(node.name)) {
    return fmt::format(", style=filled, fillcolor={}", kCloneColor);
  }
  return "";
}

bool LeavesDevice(const Graph& graph, ValueId value) {
  for (const Use& use : graph.uses(value)) {
    if (graph.node(use.node).op == kSwapOut) return true;
  }
  return false;
}

// All edges of a swapped tensor are coloured: before the swap-out, on the host,
// and after the swap-in.
std::string EdgeStyle(const Graph& graph, ValueId value) {
  const std::string& producer = graph.producer(value).op;
  if (producer == kSwapIn) return fmt::format(", color={}", kSwapInColor);
  if (producer == kSwapOut || LeavesDevice(graph, value)) {
    return fmt::format(", color={}", kSwapOutColor);
  }
  return "";
}

}  // namespace

std::string FormatDot(const Graph& graph) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "digraph \"{}\" {{\n  node [shape=box];\n",
                 Escape(graph.name()));
  for (const Node& node : graph.nodes()) {
    fmt::format_to(out, "  n{} [label=\"{}\\n{}\"{}];\n", node.id.value(),
                   Escape(node.name), Escape(node.op), NodeStyle(node));
  }
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) {
      fmt::format_to(out, "  n{} -> n{} [label=\"{}\"{}];\n",
                     graph.value(input).producer.value(), node.id.value(),
                     graph.type(input).ToString(), EdgeStyle(graph, input));
    }
    for (const NodeId before : node.control_inputs) {
      fmt::format_to(out, "  n{} -> n{} [style=dashed];\n", before.value(),
                     node.id.value());
    }
  }
  text += "}\n";
  return text;
}

}  // namespace spillway

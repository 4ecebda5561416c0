#include "simulator/node_signature.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "fmt/format.h"

namespace spillway {
namespace {

std::string ToText(const AttributeValue& value);

// "a, b, c"; `text` formats one item.
template <typename Items, typename Text>
std::string Join(const Items& items, Text text) {
  std::string joined;
  for (const auto& item : items) {
    if (!joined.empty()) joined += ", ";
    joined += text(item);
  }
  return joined;
}

struct ToTextVisitor {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const {
    return fmt::format("{}", value);
  }
  std::string operator()(double value) const {
    return fmt::format("{}", value);
  }
  std::string operator()(const std::string& value) const {
    return fmt::format("\"{}\"", value);
  }
  std::string operator()(const AttributeValue::List& values) const {
    return fmt::format("[{}]", Join(values, ToText));
  }
  std::string operator()(const AttributeValue::Object& values) const {
    return fmt::format("{{{}}}", Join(values, [](const auto& item) {
                         return item.first + "=" + ToText(item.second);
                       }));
  }
};

std::string ToText(const AttributeValue& value) {
  return std::visit(ToTextVisitor(), value.variant());
}

bool ChangesWork(std::string_view name, const AttributeValue& value) {
  constexpr std::array<std::string_view, 4> kNumbers = {"initializer", "saved",
                                                        "seed", "trainable"};
  return !std::holds_alternative<double>(value.variant()) &&
         std::ranges::find(kNumbers, name) == kNumbers.end();
}

std::string TypesText(const Graph& graph, const std::vector<ValueId>& values) {
  return Join(values, [&](ValueId id) { return graph.type(id).ToString(); });
}

}  // namespace

std::string NodeSignature(const Graph& graph, const Node& node) {
  AttributeValue::Object attributes;
  for (const auto& [name, value] : node.attributes.items()) {
    if (ChangesWork(name, value)) attributes.emplace(name, value);
  }
  return fmt::format("{}{}({}) -> {}", node.op,
                     attributes.empty() ? "" : ToTextVisitor()(attributes),
                     TypesText(graph, node.inputs),
                     TypesText(graph, node.outputs));
}

}  // namespace spillway

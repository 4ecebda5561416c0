#include "executor/plan/in_place_rule.h"

#include <algorithm>

#include "base/units.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/match_in_place.h"
#include "executor/plan/plan.h"
#include "graph/input_groups.h"
#include "graph/parts.h"
#include "graph/types_of.h"

namespace spillway {
namespace {

class RuleFinder {
 public:
  RuleFinder(const Graph& graph, const StorageMap& storages, const Node& node)
      : graph_(graph), storages_(storages), node_(node) {}

  // Whether an edited graph could let the output overwrite the input.
  bool CouldOverwrite(const BufferPair& pair) const {
    if (static_cast<size_t>(pair.input) >= node_.inputs.size() ||
        static_cast<size_t>(pair.output) >= node_.outputs.size()) {
      return false;
    }
    const ValueId output = node_.outputs[static_cast<size_t>(pair.output)];
    const Storage& input = StorageOfInput(pair.input);
    const NodeId maker = graph_.value(input.root).producer;
    return !IsAlias(output) && !input.is_resident &&
           OutputSpace(graph_.node(maker)) == Space::kDevice &&
           graph_.type(input.root).num_bytes() ==
               graph_.type(output).num_bytes();
  }

  // Whether another input of the node, or an output that is an alias, has the
  // same bytes.
  bool IsShared(int input) const {
    const ValueId root = StorageOfInput(input).root;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (static_cast<int>(i) != input &&
          storages_.of(node_.inputs[i]).root == root) {
        return true;
      }
    }
    return std::ranges::any_of(node_.outputs, [&](ValueId output) {
      return IsAlias(output) && storages_.of(output).root == root;
    });
  }

 private:
  const Storage& StorageOfInput(int input) const {
    return storages_.of(node_.inputs[static_cast<size_t>(input)]);
  }

  bool IsAlias(ValueId value) const {
    return storages_.of(value).root != value;
  }

  const Graph& graph_;
  const StorageMap& storages_;
  const Node& node_;
};

int64_t MostBytes(const InPlaceRule& rule) {
  std::vector<int64_t> aligned;
  for (const int64_t bytes : rule.output_bytes) {
    aligned.push_back(AlignUp(bytes, kBufferAlignment));
  }
  const std::vector<int> input_of =
      MatchInPlace(rule.pairs, aligned, rule.together);
  int64_t most = 0;
  for (size_t i = 0; i < aligned.size(); ++i) {
    if (input_of[i] >= 0) most += aligned[i];
  }
  return most;
}

}  // namespace

InPlaceRule FindInPlaceRule(const Graph& graph, const OpRegistry& ops,
                            const StorageMap& storages, const Node& node) {
  InPlaceRule rule;
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr || def->in_place.empty()) return rule;
  const RuleFinder finder(graph, storages, node);
  for (const BufferPair& pair : InPlacePairsOf(*def, node.inputs.size())) {
    if (finder.CouldOverwrite(pair)) rule.pairs.push_back(pair);
  }
  if (rule.pairs.empty()) return rule;
  if (!IsInPlaceLegal(graph, node, *def)) return {};
  for (const ValueId output : node.outputs) {
    rule.output_bytes.push_back(graph.type(output).num_bytes());
  }
  rule.together = def->in_place_together;
  rule.most_bytes = MostBytes(rule);
  std::erase_if(rule.pairs, [&](const BufferPair& pair) {
    return finder.IsShared(pair.input);
  });
  return rule;
}

bool IsInPlaceLegal(const Graph& graph, const Node& node, const OpDef& def) {
  if (!def.in_place_legal) return true;
  const std::vector<TensorType> inputs = InputTypesOf(graph, node, &def);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  return def.in_place_legal(
      {.attributes = node.attributes, .inputs = inputs, .outputs = outputs});
}

}  // namespace spillway

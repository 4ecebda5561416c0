#include "lms/check_kept.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace spillway {

bool SameButForPlacement(const Node& before, const Node& after) {
  return before.name == after.name && before.op == after.op &&
         before.attributes == after.attributes && before.cost == after.cost &&
         before.outputs == after.outputs;
}

absl::Status CheckTypesKept(const Graph& original, const Graph& edited,
                            NodeId id) {
  for (const ValueId output : original.node(id).outputs) {
    if (original.type(output) != edited.type(output)) {
      return Internal(fmt::format("the edit changed the type of {}",
                                  original.ValueName(output)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKept(const Graph& original, const Graph& edited, NodeId id) {
  const Node& before = original.node(id);
  const Node& after = edited.node(id);
  if (!SameButForPlacement(before, after) ||
      before.placement != after.placement) {
    return Internal(fmt::format("the edit changed node {}", before.name));
  }
  return CheckTypesKept(original, edited, id);
}

bool SameNodes(std::vector<NodeId> actual, std::vector<NodeId> expected) {
  std::ranges::sort(actual);
  std::ranges::sort(expected);
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  return actual == expected;
}

}  // namespace spillway

#include "lms/v2/serialize_levels.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

int32_t FindAssignLevel(const Graph& graph, const V2Levels& levels) {
  constexpr std::string_view kSuffix = "/Assign";
  int32_t highest = 0;
  for (const Node& node : graph.nodes()) {
    const std::string_view name = node.name;
    if (!name.ends_with(kSuffix)) continue;
    const auto variable =
        graph.FindNode(name.substr(0, name.size() - kSuffix.size()));
    if (variable && IsVariable(graph.node(*variable))) {
      highest = std::max(highest, levels.of(node.id));
    }
  }
  return highest;
}

// Levels whose device nodes have more than `gib` of inputs and outputs.
std::vector<int64_t> FindLargeLevels(double gib, const Graph& graph,
                                     const V2Levels& levels,
                                     const V2Roles& roles) {
  std::vector<int64_t> large;
  for (int32_t level = 0; level < levels.num_levels(); ++level) {
    int64_t bytes = 0;
    for (const NodeId id : levels.nodes[static_cast<size_t>(level)]) {
      if (roles.on_device[id]) bytes += TouchedBytes(graph, graph.node(id));
    }
    if (static_cast<double>(bytes) * 0x1p-30 > gib) large.push_back(level);
  }
  return large;
}

bool MayBeChained(const Node& node, const V2Roles& roles) {
  return roles.on_device[node.id] && !IsVariable(node) &&
         node.name.find("/cond/") == std::string::npos &&
         node.name.find("loss") == std::string::npos;
}

void AppendOrder(const Graph& graph, NodeId before, NodeId after,
                 std::vector<AddedOrder>& orders) {
  const std::vector<NodeId>& known = graph.node(after).control_inputs;
  if (std::ranges::find(known, before) != known.end()) return;
  orders.push_back({.before = before, .after = after});
}

}  // namespace

int64_t TouchedBytes(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (const ValueId input : node.inputs)
    bytes += graph.type(input).num_bytes();
  for (const ValueId output : node.outputs) {
    bytes += graph.type(output).num_bytes();
  }
  return bytes;
}

absl::StatusOr<LevelChains> SerializeLevels(const LmsOptions& options,
                                            const Graph& graph,
                                            const V2Levels& levels,
                                            const V2Roles& roles) {
  LevelChains chains{.assign_level = FindAssignLevel(graph, levels)};
  if (options.v2.serialization_by_size_gib > 0) {
    chains.levels_by_size = FindLargeLevels(
        options.v2.serialization_by_size_gib, graph, levels, roles);
  }
  std::set<int64_t> chosen(chains.levels_by_size.begin(),
                           chains.levels_by_size.end());
  for (const std::string& item : options.v2.serialization) {
    SPILLWAY_ASSIGN_OR_RETURN(const LevelSlice slice,
                              ParseLevelSlice(item, options.compat));
    const std::vector<int64_t> some = slice.Levels(levels.num_levels());
    if (some.empty() && !options.compat) {
      return InvalidArgument(
          fmt::format("lms_serialization: \"{}\" selects none of the {}; "
                      "the end of a slice is not part of it",
                      item, Counted(levels.num_levels(), "level")));
    }
    chosen.insert(some.begin(), some.end());
  }
  int64_t last_level = -1;
  NodeId last;  // of the previous level, if it was chained
  for (const int64_t level : chosen) {
    if (level <= chains.assign_level) continue;
    if (level != last_level + 1) last = {};
    NodeId previous = last;
    last = {};
    for (const NodeId id : levels.nodes[static_cast<size_t>(level)]) {
      if (!MayBeChained(graph.node(id), roles)) continue;
      if (previous.is_valid()) AppendOrder(graph, previous, id, chains.orders);
      previous = id;
      last = id;
    }
    last_level = level;
  }
  return chains;
}

}  // namespace spillway

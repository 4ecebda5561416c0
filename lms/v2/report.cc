#include "lms/v2/report.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

// Formats like Python's round(number, 2): "0.25", "0.5", "1.0".
std::string Rounded(double number) {
  std::string text = fmt::format("{:.2f}", number);
  if (text.back() == '0') text.pop_back();
  return text;
}

// Counts pairs of nodes with data between them.
int64_t NumEdges(const Graph& graph) {
  int64_t edges = 0;
  for (const Node& node : graph.nodes()) {
    std::set<NodeId> producers;
    for (const ValueId input : node.inputs) {
      producers.insert(graph.value(input).producer);
    }
    edges += static_cast<int64_t>(producers.size());
  }
  return edges;
}

// "[1, '3:5', 7]"
std::string ListLevels(const LmsOptions& options, const LevelChains& chains) {
  std::vector<std::string> items;
  for (const std::string& item : options.v2.serialization) {
    const bool slice = item.find(':') != std::string::npos;
    items.push_back(slice ? fmt::format("'{}'", item) : item);
  }
  for (const int64_t level : chains.levels_by_size) {
    items.push_back(fmt::format("{}", level));
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string_view SyncWords(int64_t sync_mode) {
  switch (sync_mode) {
    case 0:
      return "Asynchronous memory copy between host and device";
    case 1:
      return "Synchronous memory copy from device to host, but asynchronous "
             "memory copy from host to device";
    case 2:
      return "Asynchronous memory copy from device to host, but synchronous "
             "memory copy from host to device";
    default:
      return "Synchronous memory copy between host and device";
  }
}

}  // namespace

std::string Gib(int64_t bytes) {
  return Rounded(static_cast<double>(bytes) * 0x1p-30);
}

std::vector<LogLine> DescribeGraph(const Graph& graph, const V2Roles& roles,
                                   const V2Levels& levels) {
  std::vector<LogLine> log = {
      {0, fmt::format("The graph has {} vertices and {} edges.",
                      graph.num_nodes(), NumEdges(graph))},
      {0, fmt::format(
              "The graph has {} MiB of learning parameters.",
              Rounded(static_cast<double>(TrainableBytes(graph)) * 0x1p-20))}};
  NodeId largest;
  int64_t largest_bytes = 0;
  for (const Node& node : graph.nodes()) {
    const int64_t bytes = TouchedBytes(graph, node);
    if (!roles.on_device[node.id] || bytes <= largest_bytes) continue;
    largest = node.id;
    largest_bytes = bytes;
  }
  if (largest.is_valid()) {
    log.push_back(
        {0, fmt::format("The largest GPU operation is {} consuming "
                        "{} GiB",
                        graph.node(largest).name, Gib(largest_bytes))});
  }
  log.push_back(
      {0, fmt::format("Original categorized topological sort has {} levels.",
                      levels.num_levels())});
  return log;
}

std::vector<LogLine> DescribeSerialization(const LmsOptions& options,
                                           const LevelChains& chains,
                                           const V2Levels& levels) {
  std::vector<LogLine> log;
  if (options.v2.serialization_by_size_gib > 0) {
    log.push_back({0, fmt::format("  Serialize topological sort levels "
                                  "consuming more than: {} GiB",
                                  options.v2.serialization_by_size_gib)});
  }
  if (options.v2.serialization.empty() && chains.levels_by_size.empty()) {
    return log;
  }
  log.push_back({0, fmt::format("  The maximum level of Assign ops: {}",
                                chains.assign_level)});
  log.push_back({0, fmt::format("  Serialize the topological sort for levels: "
                                "{}",
                                ListLevels(options, chains))});
  log.push_back(
      {0, fmt::format("  New categorized topological sort has {} levels.",
                      levels.num_levels())});
  return log;
}

std::vector<LogLine> DescribeLevels(const Graph& graph,
                                    const V2Levels& levels) {
  std::vector<LogLine> log = {
      {1, "Operations in each topological sort level:"}};
  for (size_t level = 0; level < levels.nodes.size(); ++level) {
    std::vector<std::string_view> names;
    for (const NodeId id : levels.nodes[level]) {
      names.push_back(graph.node(id).name);
    }
    log.push_back(
        {1, fmt::format("[{}]: [{}]", level, fmt::join(names, ", "))});
  }
  return log;
}

std::vector<LogLine> DescribeOptions(const LmsOptions& options) {
  const std::string ignored =
      SyncsSwapIns(options) ? fmt::format(" (ignored since sync_mode is {})",
                                          options.v2.sync_mode)
                            : "";
  return {
      {0, "LMS will use the following parameter set:"},
      {0, fmt::format("  sync_mode: {} ({})", options.v2.sync_mode,
                      SyncWords(options.v2.sync_mode))},
      {0, fmt::format("  swapout_threshold: {}", options.v2.swapout_threshold)},
      {0,
       fmt::format("  swapin_ahead: {}{}", options.v2.swapin_ahead, ignored)},
      {0, fmt::format("  swapin_groupby: {}{}", options.v2.swapin_groupby,
                      ignored)},
  };
}

std::vector<LogLine> DescribeSwap(const Swap& swap, const Graph& graph) {
  const std::string tensor = graph.ValueName(swap.value);
  const std::string shape = graph.type(swap.value).shape.ToString();
  const std::string& producer = graph.producer(swap.value).name;
  // The swap-out is the last use of the value, since it was added last.
  const Node& out = graph.node(graph.uses(swap.value).back().node);
  std::vector<LogLine> log = {
      {1, fmt::format("Operation: {}", producer)},
      {1, fmt::format("  Swap-out: Tensor {} (shape: {})", tensor, shape)},
      {1, fmt::format("    Swap-out operation: {}", out.name)},
      {1, fmt::format("    Connect: {} => {}", producer, out.name)}};
  for (const Use& copy : graph.uses(out.outputs[0])) {
    const Node& in = graph.node(copy.node);
    log.push_back(
        {1, fmt::format("  Swap-in: Tensor {} (shape: {})", tensor, shape)});
    log.push_back({1, fmt::format("    Swap-in operation: {}", in.name)});
    log.push_back({1, fmt::format("    Connect: {} => {}", out.name, in.name)});
    for (const Use& use : graph.uses(in.outputs[0])) {
      log.push_back({1, fmt::format("    Connect: {} => {}", in.name,
                                    graph.node(use.node).name)});
    }
  }
  return log;
}

std::vector<std::string> V2LogLines(const LmsOptions& options,
                                    const LmsReport& report) {
  std::vector<std::string> lines = {"[LMS][0] Editing model for LMS"};
  for (const LogLine& line : report.log) {
    if (line.level > options.debug_level) continue;
    lines.push_back(fmt::format("[LMS][{}] {}", line.level, line.text));
  }
  lines.push_back(fmt::format(
      "[LMS][0] Added {} operations to the model ({} swap-out operations ({} "
      "GiB) and {} swap-in operations ({} GiB))",
      report.added_ops, report.swap_outs, Gib(report.out_bytes),
      report.swap_ins, Gib(report.in_bytes)));
  lines.push_back(fmt::format("[LMS][0] Editing model for LMS, took: {:.3f} ms",
                              static_cast<double>(report.edit_ns) * 1e-6));
  return lines;
}

}  // namespace spillway

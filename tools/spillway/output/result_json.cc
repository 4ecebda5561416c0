#include "tools/spillway/output/result_json.h"

#include <map>
#include <string>
#include <string_view>

#include "base/random.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "lms/options_json.h"

namespace spillway {

Json LmsJson(const LmsOptions& options) { return UsedOptionsToJson(options); }

Json SwapJson(const SwapCounts& counts) {
  return {{"tensors", counts.tensors},
          {"swap_outs", counts.swap_outs},
          {"swap_ins", counts.swap_ins},
          {"delayed_swap_ins", counts.delayed_swap_ins},
          {"out_bytes", counts.out_bytes},
          {"in_bytes", counts.in_bytes},
          {"fed_again", counts.fed_again},
          {"fed_again_bytes", counts.fed_again_bytes}};
}

Json AlgorithmsJson(const AlgorithmNames& algorithms) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : algorithms) {
    if (!name.empty()) ++counts[name];
  }
  return counts;
}

std::string AlgorithmsDigest(const AlgorithmNames& algorithms,
                             const Graph& graph) {
  std::map<std::string, std::string> of_nodes;
  for (const Node& node : graph.nodes()) {
    if (IsCloneName(node.name)) continue;  // its original's
    const std::string_view name = AlgorithmOf(algorithms, node.id);
    if (!name.empty()) of_nodes.emplace(node.name, name);
  }
  std::string text;
  for (const auto& [node, name] : of_nodes) {
    text += fmt::format("{}\n{}\n", node, name);
  }
  return text.empty() ? "first" : fmt::format("{:016x}", HashName(text));
}

std::string FormatChecksum(const std::string& checksum,
                           const std::string& digest, AlgorithmChoice choice) {
  std::string text = fmt::format("checksum     {}", checksum);
  if (digest != "first") text += fmt::format(" with algorithms {}", digest);
  if (choice == AlgorithmChoice::kAuto) {
    text +=
        "\n             another budget may choose other algorithms, and so "
        "round differently";
  }
  return text + "\n";
}

Json PeakJson(int64_t predicted, int64_t measured) {
  return {{"predicted", predicted}, {"measured", measured}};
}

Json FloorJson(const MemoryFloor& floor, const Graph& graph) {
  return {{"node", floor.node.is_valid() ? graph.node(floor.node).name : ""},
          {"bytes", floor.bytes}};
}

Json ClonesJson(const CloneCounts& clones) {
  return {{"nodes", clones.nodes}, {"bytes", clones.bytes}};
}

Json DroppedJson(const LmsReport& report) {
  Json json = Json::array();
  for (const LmsReport::Dropped& dropped : report.dropped) {
    json.push_back({{"tensor", dropped.tensor}, {"reason", dropped.reason}});
  }
  return json;
}

}  // namespace spillway

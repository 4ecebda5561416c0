#include "tools/spillway/result_json.h"

#include <map>
#include <string>

#include "lms/options_json.h"

namespace spillway {

Json LmsJson(const LmsOptions& options) { return UsedOptionsToJson(options); }

Json SwapJson(const SwapCounts& counts) {
  return {{"tensors", counts.tensors},
          {"swap_outs", counts.swap_outs},
          {"swap_ins", counts.swap_ins},
          {"delayed_swap_ins", counts.delayed_swap_ins},
          {"out_bytes", counts.out_bytes},
          {"in_bytes", counts.in_bytes}};
}

Json AlgorithmsJson(const AlgorithmNames& algorithms) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : algorithms) {
    if (!name.empty()) ++counts[name];
  }
  return counts;
}

Json PeakJson(int64_t predicted, int64_t measured) {
  return {{"predicted", predicted}, {"measured", measured}};
}

Json FloorJson(const MemoryFloor& floor, const Graph& graph) {
  return {{"node", floor.node.is_valid() ? graph.node(floor.node).name : ""},
          {"bytes", floor.bytes}};
}

Json DroppedJson(const LmsReport& report) {
  Json json = Json::array();
  for (const LmsReport::Dropped& dropped : report.dropped) {
    json.push_back({{"tensor", dropped.tensor}, {"reason", dropped.reason}});
  }
  return json;
}

}  // namespace spillway

#include "tools/spillway/result_json.h"

#include <string>

namespace spillway {

Json LmsJson(const LmsOptions& options) {
  Json json = {{"mode", std::string(LmsModeName(options.mode))}};
  if (options.mode == LmsMode::kOff) return json;
  json["n_tensors"] = options.n_tensors;
  json["lb"] = options.lb;
  json["ub"] = options.ub;
  json["ctrld_strategy"] =
      std::string(ControlStrategyName(options.ctrld_strategy));
  json["optimizer_scopes"] = options.optimizer_scopes;
  json["size_threshold"] = options.size_threshold_bytes;
  json["compat"] = options.compat;
  return json;
}

Json SwapJson(const SwapCounts& counts) {
  return {{"tensors", counts.tensors},
          {"swap_outs", counts.swap_outs},
          {"swap_ins", counts.swap_ins},
          {"out_bytes", counts.out_bytes},
          {"in_bytes", counts.in_bytes}};
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

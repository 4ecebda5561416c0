#include <string>

#include "base/json.h"
#include "nlohmann/json.hpp"
#include "simulator/device_profile.h"
#include "simulator/network/network_json.h"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const LinkDirection& direction) {
  Json json = {{"latency_ns", direction.latency_ns},
               {"bytes_per_second", direction.bytes_per_second},
               {"shared_bytes_per_second", direction.shared_bytes_per_second}};
  for (const CopyTime& time : direction.by_size) {
    json["by_size"].push_back({{"bytes", time.bytes},
                               {"alone_ns", time.alone_ns},
                               {"shared_ns", time.shared_ns}});
  }
  return json;
}

Json FlopsJson(const DeviceProfile& profile) {
  Json json;
  for (const auto& [dtype, rate] : profile.flops_per_second) {
    json[std::string(DTypeName(dtype))] = rate;
  }
  return json;
}

Json ConvolutionsJson(const DeviceProfile& profile) {
  Json json;
  for (const auto& [dtype, parts] : profile.convolution_efficiency) {
    json[std::string(DTypeName(dtype))] = {{"pointwise", parts.pointwise},
                                           {"winograd", parts.winograd},
                                           {"other", parts.other}};
  }
  return json;
}

void AddHost(const DeviceProfile& profile, Json& json) {
  if (profile.call_ns > 0) json["call_ns"] = profile.call_ns;
  if (profile.wake_ns > 0) json["wake_ns"] = profile.wake_ns;
  if (profile.kernel_ns_per_copied_byte > 0) {
    json["kernel_ns_per_copied_byte"] = profile.kernel_ns_per_copied_byte;
  }
  if (profile.in_turn) json["in_turn"] = true;
  if (profile.network) json["network"] = NetworkToJson(*profile.network);
}

}  // namespace

std::string FormatDeviceProfile(const DeviceProfile& profile) {
  Json json = {{"format", "spillway.device_profile"},
               {"name", profile.name},
               {"source", profile.source}};
  if (!profile.libraries.empty()) json["libraries"] = profile.libraries;
  if (profile.foreign_work > 0) json["foreign_work"] = profile.foreign_work;
  json["memory_bytes"] = profile.memory_bytes;
  if (profile.host_memory_bytes > 0) {
    json["host_memory_bytes"] = profile.host_memory_bytes;
  }
  if (profile.host_flops_per_second > 0) {
    json["host_memory_bytes_per_second"] = profile.host_memory_bytes_per_second;
    json["host_flops_per_second"] = profile.host_flops_per_second;
  }
  json["memory_bytes_per_second"] = profile.memory_bytes_per_second;
  json["memory_efficiency"] = profile.memory_efficiency;
  json["flops_per_second"] = FlopsJson(profile);
  json["compute_efficiency"] = profile.compute_efficiency;
  if (!profile.convolution_efficiency.empty()) {
    json["convolution_efficiency"] = ConvolutionsJson(profile);
  }
  json["kernel_ns"] = profile.kernel_ns;
  json["issue_ns"] = profile.issue_ns;
  AddHost(profile, json);
  json["to_host"] = ToJson(profile.to_host);
  json["to_device"] = ToJson(profile.to_device);
  for (const auto& [signature, ns] : profile.kernels) {
    json["kernels"][signature] = ns;
  }
  for (const auto& [signature, algorithms] : profile.algorithms) {
    for (const auto& [name, measured] : algorithms) {
      json["algorithms"][signature][name] = {
          {"workspace_bytes", measured.workspace_bytes}, {"ns", measured.ns}};
    }
  }
  return FormatJson(json);
}

}  // namespace spillway

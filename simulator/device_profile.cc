#include "simulator/device_profile.h"

#include <cmath>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "simulator/network/network_json.h"

namespace spillway {
namespace {

constexpr std::string_view kFormat = "spillway.device_profile";

constexpr NumberRange kRates = {.least = kLeastProfileRate,
                                .most = kMostProfileRate};
constexpr NumberRange kEfficiencies = {.least = kLeastProfileEfficiency,
                                       .most = 1};

// Also accepts an integer that is written as 1e9 or 7.0.
int64_t ReadInteger(JsonObject& object, std::string_view name, double least) {
  const double number =
      object.Number(name, {.least = least, .most = kMostProfileInteger});
  if (number != std::trunc(number)) object.MustBe(name, "an integer");
  return static_cast<int64_t>(number);
}

std::vector<CopyTime> ReadCopyTimes(JsonObject& link) {
  std::vector<CopyTime> times;
  for (JsonObject item : link.Objects("by_size")) {
    const CopyTime time = {.bytes = ReadInteger(item, "bytes", 1),
                           .alone_ns = ReadInteger(item, "alone_ns", 1),
                           .shared_ns = ReadInteger(item, "shared_ns", 1)};
    if (!times.empty() && time.bytes <= times.back().bytes) {
      item.MustBe("bytes", fmt::format("more than {}, that of the one before",
                                       times.back().bytes));
    }
    item.RefuseOtherFields();
    times.push_back(time);
  }
  if (times.empty()) link.MustBe("by_size", "a list of at least one size");
  return times;
}

LinkDirection ReadDirection(JsonObject link) {
  LinkDirection direction = {
      .latency_ns = ReadInteger(link, "latency_ns", 0),
      .bytes_per_second = link.Number("bytes_per_second", kRates),
      .shared_bytes_per_second =
          link.Number("shared_bytes_per_second", kRates)};
  if (link.Has("by_size")) direction.by_size = ReadCopyTimes(link);
  link.RefuseOtherFields();
  return direction;
}

std::map<DType, double> ReadFlops(JsonObject flops) {
  std::map<DType, double> rates;
  rates[DType::kFloat32] = flops.Number("float32", kRates);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const std::string_view name = DTypeName(dtype);
    if (flops.Has(name)) rates[dtype] = flops.Number(name, kRates);
  }
  flops.RefuseOtherFields();
  return rates;
}

ConvolutionEfficiency ReadConvolutionEfficiency(JsonObject parts) {
  constexpr NumberRange kParts = {.least = kLeastProfileEfficiency,
                                  .most = kMostConvolutionEfficiency};
  const ConvolutionEfficiency efficiency = {
      .pointwise = parts.Number("pointwise", kParts),
      .winograd = parts.Number("winograd", kParts),
      .other = parts.Number("other", kParts)};
  parts.RefuseOtherFields();
  return efficiency;
}

// Call after the rates are read: each dtype must have one.
void ReadConvolutions(JsonObject dtypes, DeviceProfile& profile) {
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const std::string_view name = DTypeName(dtype);
    if (!dtypes.Has(name)) continue;
    if (!profile.flops_per_second.contains(dtype)) {
      dtypes.MustBe(name, "left out: flops_per_second has no such rate");
    }
    profile.convolution_efficiency[dtype] =
        ReadConvolutionEfficiency(dtypes.Object(name));
  }
  dtypes.RefuseOtherFields();
}

// The optional fields.
void ReadHost(JsonObject& file, DeviceProfile& profile) {
  if (file.Has("host_memory_bytes")) {
    profile.host_memory_bytes = ReadInteger(file, "host_memory_bytes", 1);
  }
  if (file.Has("host_memory_bytes_per_second") ||
      file.Has("host_flops_per_second")) {
    profile.host_memory_bytes_per_second =
        file.Number("host_memory_bytes_per_second", kRates);
    profile.host_flops_per_second =
        file.Number("host_flops_per_second", kRates);
  }
  if (file.Has("call_ns")) profile.call_ns = ReadInteger(file, "call_ns", 0);
  if (file.Has("wake_ns")) profile.wake_ns = ReadInteger(file, "wake_ns", 0);
  if (file.Has("kernel_ns_per_copied_byte")) {
    profile.kernel_ns_per_copied_byte =
        file.Number("kernel_ns_per_copied_byte",
                    {.least = 0, .most = kMostNsPerCopiedByte});
  }
  if (file.Has("in_turn")) profile.in_turn = file.Flag("in_turn");
  if (file.Has("network"))
    profile.network = ReadNetwork(file.Object("network"));
}

void ReadKernels(JsonObject kernels, DeviceProfile& profile) {
  for (const std::string_view signature : kernels.names()) {
    profile.kernels[std::string(signature)] =
        ReadInteger(kernels, signature, 0);
  }
}

// {signature: {algorithm: {"workspace_bytes", "ns"}}}
void ReadAlgorithms(JsonObject kernels, DeviceProfile& profile) {
  for (const std::string_view signature : kernels.names()) {
    JsonObject algorithms = kernels.Object(signature);
    for (const std::string_view name : algorithms.names()) {
      JsonObject algorithm = algorithms.Object(name);
      profile.algorithms[std::string(signature)][std::string(name)] = {
          .workspace_bytes = ReadInteger(algorithm, "workspace_bytes", 0),
          .ns = ReadInteger(algorithm, "ns", 0)};
      algorithm.RefuseOtherFields();
    }
  }
}

}  // namespace

DeviceProfile ForCapturedSteps(DeviceProfile profile) {
  profile.call_ns += profile.issue_ns;
  profile.issue_ns = 0;
  return profile;
}

absl::StatusOr<DeviceProfile> ParseDeviceProfile(std::string_view text,
                                                 std::string_view origin) {
  SPILLWAY_ASSIGN_OR_RETURN(const auto json, ParseJson(text, origin));
  JsonObject file(json, origin);
  if (file.Text("format") != kFormat) {
    file.MustBe("format", fmt::format("\"{}\"", kFormat));
  }
  DeviceProfile profile;
  profile.name = file.Text("name");
  profile.source = file.Text("source");
  if (file.Has("libraries")) profile.libraries = file.Text("libraries");
  if (file.Has("foreign_work")) {
    profile.foreign_work = file.Number("foreign_work", {.least = 0, .most = 1});
  }
  profile.memory_bytes = ReadInteger(file, "memory_bytes", 1);
  profile.memory_bytes_per_second =
      file.Number("memory_bytes_per_second", kRates);
  profile.memory_efficiency = file.Number("memory_efficiency", kEfficiencies);
  profile.compute_efficiency = file.Number("compute_efficiency", kEfficiencies);
  profile.kernel_ns = ReadInteger(file, "kernel_ns", 0);
  profile.issue_ns = ReadInteger(file, "issue_ns", 0);
  ReadHost(file, profile);
  profile.flops_per_second = ReadFlops(file.Object("flops_per_second"));
  if (file.Has("convolution_efficiency")) {
    ReadConvolutions(file.Object("convolution_efficiency"), profile);
  }
  profile.to_host = ReadDirection(file.Object("to_host"));
  profile.to_device = ReadDirection(file.Object("to_device"));
  if (file.Has("kernels")) ReadKernels(file.Object("kernels"), profile);
  if (file.Has("algorithms")) {
    ReadAlgorithms(file.Object("algorithms"), profile);
  }
  file.RefuseOtherFields();
  SPILLWAY_RETURN_IF_ERROR(file.status());
  return profile;
}

absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseDeviceProfile(text, path);
}

}  // namespace spillway

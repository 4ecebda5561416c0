#include "simulator/device_profile.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

// Reads the fields of one object; the first error is kept.
class Reader {
 public:
  Reader(const Json& object, std::string path)
      : object_(object), path_(std::move(path)) {
    if (!object.is_object()) Fail("", "an object");
  }

  const std::string& path() const { return path_; }
  absl::Status status() const { return status_; }

  void Text(const char* name, std::string& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_string()) return Fail(name, "text");
    value = field->get<std::string>();
  }

  // Within [least, most].
  void Number(const char* name, double least, double most, double& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    const bool fits = field->is_number() && field->get<double>() >= least &&
                      field->get<double>() <= most;
    if (!fits) {
      return Fail(name, fmt::format("a number from {:g} to {:g}", least, most));
    }
    value = field->get<double>();
  }

  void Integer(const char* name, int64_t least, int64_t& value) {
    double number = 0;
    Number(name, static_cast<double>(least), kMostProfileInteger, number);
    if (number != std::trunc(number)) return Fail(name, "an integer");
    value = static_cast<int64_t>(number);
  }

  void Flag(const char* name, bool& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_boolean()) return Fail(name, "true or false");
    value = field->get<bool>();
  }

  // Whether the object has this field, which it may leave out.
  bool Has(const char* name) {
    known_.insert(name);
    return status_.ok() && object_.contains(name);
  }

  // Null, with an error kept, where the object lacks it.
  const Json* Find(const char* name) {
    known_.insert(name);
    if (!status_.ok()) return nullptr;
    const auto field = object_.find(name);
    if (field != object_.end()) return &*field;
    Fail(name, "there");
    return nullptr;
  }

  // No field but those that were asked for.
  absl::Status Finish() {
    if (!status_.ok()) return status_;
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) {
        return InvalidArgument(
            fmt::format("{}: unknown field \"{}\"", path_, name));
      }
    }
    return absl::OkStatus();
  }

  void Fail(std::string_view name, std::string_view expected) {
    if (!status_.ok()) return;
    status_ = InvalidArgument(
        name.empty() ? fmt::format("{} must be {}", path_, expected)
                     : fmt::format("{}: field \"{}\" must be {}", path_,
                                   std::string(name), expected));
  }

 private:
  const Json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> known_;
  absl::Status status_;
};

absl::Status ReadCopyTimes(Reader& parent, std::vector<CopyTime>& times) {
  const Json* field = parent.Find("by_size");
  if (field == nullptr) return parent.status();
  if (!field->is_array() || field->empty()) {
    parent.Fail("by_size", "a list of at least one size");
    return parent.status();
  }
  for (const Json& item : *field) {
    Reader reader(item,
                  fmt::format("{}: by_size[{}]", parent.path(), times.size()));
    CopyTime time;
    reader.Integer("bytes", 1, time.bytes);
    if (!times.empty() && time.bytes <= times.back().bytes) {
      reader.Fail("bytes", fmt::format("more than {}, that of the one before",
                                       times.back().bytes));
    }
    reader.Integer("alone_ns", 1, time.alone_ns);
    reader.Integer("shared_ns", 1, time.shared_ns);
    SPILLWAY_RETURN_IF_ERROR(reader.Finish());
    times.push_back(time);
  }
  return absl::OkStatus();
}

absl::Status ReadDirection(Reader& parent, const char* name,
                           LinkDirection& direction) {
  const Json* field = parent.Find(name);
  if (field == nullptr) return parent.status();
  Reader reader(*field, fmt::format("{}: {}", parent.path(), name));
  reader.Integer("latency_ns", 0, direction.latency_ns);
  reader.Number("bytes_per_second", kLeastProfileRate, kMostProfileRate,
                direction.bytes_per_second);
  reader.Number("shared_bytes_per_second", kLeastProfileRate, kMostProfileRate,
                direction.shared_bytes_per_second);
  if (reader.Has("by_size")) {
    SPILLWAY_RETURN_IF_ERROR(ReadCopyTimes(reader, direction.by_size));
  }
  return reader.Finish();
}

absl::Status ReadFlops(Reader& parent, std::map<DType, double>& rates) {
  const Json* field = parent.Find("flops_per_second");
  if (field == nullptr) return parent.status();
  Reader reader(*field, fmt::format("{}: flops_per_second", parent.path()));
  reader.Number("float32", kLeastProfileRate, kMostProfileRate,
                rates[DType::kFloat32]);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const std::string name(DTypeName(dtype));
    if (!field->is_object() || !field->contains(name)) continue;
    reader.Number(name.c_str(), kLeastProfileRate, kMostProfileRate,
                  rates[dtype]);
  }
  return reader.Finish();
}

// What a file may leave out.
void ReadHost(Reader& reader, DeviceProfile& profile) {
  if (reader.Has("call_ns")) reader.Integer("call_ns", 0, profile.call_ns);
  if (reader.Has("wake_ns")) reader.Integer("wake_ns", 0, profile.wake_ns);
  if (reader.Has("kernel_ns_per_copied_byte")) {
    reader.Number("kernel_ns_per_copied_byte", 0, kMostNsPerCopiedByte,
                  profile.kernel_ns_per_copied_byte);
  }
  if (reader.Has("in_turn")) reader.Flag("in_turn", profile.in_turn);
}

absl::Status ReadKernels(Reader& parent, DeviceProfile& profile) {
  if (!parent.Has("kernels")) return absl::OkStatus();
  const Json& field = *parent.Find("kernels");
  Reader reader(field, fmt::format("{}: kernels", parent.path()));
  SPILLWAY_RETURN_IF_ERROR(reader.status());
  for (const auto& [signature, value] : field.items()) {
    reader.Integer(signature.c_str(), 0, profile.kernels[signature]);
  }
  return reader.Finish();
}

// {signature: {algorithm: {"workspace_bytes", "ns"}}}
absl::Status ReadAlgorithms(Reader& parent, DeviceProfile& profile) {
  if (!parent.Has("algorithms")) return absl::OkStatus();
  const Json& field = *parent.Find("algorithms");
  const std::string path = fmt::format("{}: algorithms", parent.path());
  SPILLWAY_RETURN_IF_ERROR(Reader(field, path).status());
  for (const auto& [signature, algorithms] : field.items()) {
    const std::string of = fmt::format("{}: {}", path, signature);
    SPILLWAY_RETURN_IF_ERROR(Reader(algorithms, of).status());
    for (const auto& [name, value] : algorithms.items()) {
      MeasuredAlgorithm& measured = profile.algorithms[signature][name];
      Reader reader(value, fmt::format("{}: {}", of, name));
      reader.Integer("workspace_bytes", 0, measured.workspace_bytes);
      reader.Integer("ns", 0, measured.ns);
      SPILLWAY_RETURN_IF_ERROR(reader.Finish());
    }
  }
  return absl::OkStatus();
}

}  // namespace

DeviceProfile ForCapturedSteps(DeviceProfile profile) {
  profile.call_ns += profile.issue_ns;
  profile.issue_ns = 0;
  return profile;
}

absl::StatusOr<DeviceProfile> ParseDeviceProfile(std::string_view text,
                                                 std::string_view origin) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, origin));
  DeviceProfile profile;
  Reader reader(json, std::string(origin));
  std::string format;
  reader.Text("format", format);
  if (format != "spillway.device_profile") {
    reader.Fail("format", "\"spillway.device_profile\"");
  }
  reader.Text("name", profile.name);
  reader.Text("source", profile.source);
  if (reader.Has("libraries")) reader.Text("libraries", profile.libraries);
  reader.Integer("memory_bytes", 1, profile.memory_bytes);
  reader.Number("memory_bytes_per_second", kLeastProfileRate, kMostProfileRate,
                profile.memory_bytes_per_second);
  reader.Number("memory_efficiency", kLeastProfileEfficiency, 1,
                profile.memory_efficiency);
  reader.Number("compute_efficiency", kLeastProfileEfficiency, 1,
                profile.compute_efficiency);
  reader.Integer("kernel_ns", 0, profile.kernel_ns);
  reader.Integer("issue_ns", 0, profile.issue_ns);
  ReadHost(reader, profile);
  SPILLWAY_RETURN_IF_ERROR(ReadFlops(reader, profile.flops_per_second));
  SPILLWAY_RETURN_IF_ERROR(ReadDirection(reader, "to_host", profile.to_host));
  SPILLWAY_RETURN_IF_ERROR(
      ReadDirection(reader, "to_device", profile.to_device));
  SPILLWAY_RETURN_IF_ERROR(ReadKernels(reader, profile));
  SPILLWAY_RETURN_IF_ERROR(ReadAlgorithms(reader, profile));
  SPILLWAY_RETURN_IF_ERROR(reader.Finish());
  return profile;
}

absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseDeviceProfile(text, path);
}

}  // namespace spillway

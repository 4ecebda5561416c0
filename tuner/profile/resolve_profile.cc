#include "tuner/profile/resolve_profile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/counted.h"
#include "base/status_macros.h"
#include "comm/communicator.h"
#include "executor/device/registry.h"
#include "fmt/format.h"
#include "ops/all_ops.h"
#include "simulator/default_profile.h"
#include "simulator/shipped_profiles.h"
#include "spdlog/spdlog.h"

namespace spillway {
namespace {

std::string NotEmptyVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string CacheFolder() {
  const std::string cache = NotEmptyVariable("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/spillway";
  const std::string home = NotEmptyVariable("HOME");
  return home.empty() ? "" : home + "/.cache/spillway";
}

// "cpu, 2 threads" -> "cpu_2_threads.json"
std::string FileName(const std::string& device) {
  std::string name;
  for (const char c : device) {
    if (c == ',' || c == '/') continue;
    name += c == ' ' || c == ':' ? '_' : c;
  }
  return name + ".json";
}

// nullopt: the file does not exist, or is of other library versions.
absl::StatusOr<std::optional<DeviceProfile>> ReadCached(
    const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path, CachedProfilePath(options));
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(path);
  if (!profile.ok()) {
    return Annotate(profile.status(),
                    "cached profile (remove the file to do without)");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::string libraries, LibrariesOf(options));
  if (profile->libraries == libraries) return *std::move(profile);
  if (options.warns_of_profile) {
    spdlog::warn(
        "{} was measured with \"{}\", not with \"{}\", and is not used; "
        "measure again with spillway profile",
        path, profile->libraries, libraries);
  }
  return std::nullopt;
}

absl::StatusOr<DeviceProfile> FindProfile(const StepOptions& options) {
  StepOptions full_speed = options;
  full_speed.link_gbps = 0;
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<DeviceProfile> of_device,
                            ReadCached(full_speed));
  if (options.link_gbps > 0) {
    SPILLWAY_ASSIGN_OR_RETURN(std::optional<DeviceProfile> of_link,
                              ReadCached(options));
    if (of_link && options.algorithms == AlgorithmChoice::kSame) {
      of_link->algorithms.clear();
      if (of_device) of_link->algorithms = of_device->algorithms;
    }
    if (of_link) return *std::move(of_link);
  }
  if (of_device) return *std::move(of_device);
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(options));
  if (device->kind() == DeviceKind::kCuda) return DefaultGpuProfile();
  DeviceProfile profile = DefaultCpuProfile(ResolveThreads(options.threads));
  profile.in_turn = device->name() == "inline";
  return profile;
}

absl::StatusOr<DeviceProfile> FindChosen(const StepOptions& options) {
  if (const auto* value = std::get_if<DeviceProfile>(&options.profile)) {
    const auto checked =
        ParseDeviceProfile(FormatDeviceProfile(*value), "profile");
    if (!checked.ok()) return checked.status();
    return *value;
  }
  const std::string& name = std::get<std::string>(options.profile);
  if (name.empty()) return FindProfile(options);
  if (IsShippedProfile(name)) return ShippedProfile(name);
  absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(name);
  if (absl::IsNotFound(profile.status()) && name.find('/') == name.npos) {
    return NotFound(
        fmt::format("profile: there is no file {}, and no shipped "
                    "profile of that name ({})",
                    name, fmt::join(ShippedProfileNames(), ", ")));
  }
  if (!profile.ok()) return Annotate(profile.status(), "profile");
  return profile;
}

}  // namespace

absl::StatusOr<std::string> LibrariesOf(const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(options));
  return KernelLibraries(device->kind());
}

absl::StatusOr<std::string> DescribeDevice(const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(options));
  if (!device->model().empty()) {
    return fmt::format("{}{}{}", std::string(device->model()),
                       options.math.allow_tf32 ? ", tf32" : "",
                       options.math.deterministic ? "" : ", not deterministic");
  }
  const int threads = ResolveThreads(options.threads);
  std::string text = fmt::format("{}, {}", std::string(device->name()),
                                 Counted(threads, "thread"));
  if (options.link_gbps > 0) {
    text += fmt::format(", link {} gbps", options.link_gbps);
  }
  return text;
}

absl::StatusOr<std::string> CachedProfilePath(const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string device, DescribeDevice(options));
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : fmt::format("{}/{}", folder, FileName(device));
}

bool IsNamed(const ProfileChoice& profile) {
  const auto* name = std::get_if<std::string>(&profile);
  return name == nullptr || !name->empty();
}

absl::StatusOr<DeviceProfile> ResolveProfile(const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(DeviceProfile profile, FindChosen(options));
  if (profile.foreign_work > 0 && options.warns_of_profile) {
    spdlog::warn(
        "the profile of {} was measured while other programs took {:.0f} % of "
        "the CPU time, so predicted times may be wrong; spillway profile "
        "measures again",
        profile.name, 100 * profile.foreign_work);
  }
  if (options.link_gbps > 0) {
    const double rate = options.link_gbps * 1e9;
    for (LinkDirection* link : {&profile.to_host, &profile.to_device}) {
      *link = LimitRate(*link, rate, profile.wake_ns);
    }
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      profile.network,
      NetworkOf(options.network, profile, WorldSizeOf(options.communicator)));
  if (options.capture_steps) profile = ForCapturedSteps(std::move(profile));
  return profile;
}

}  // namespace spillway

#include "tools/spillway/profile_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "fmt/format.h"
#include "ops/all_ops.h"
#include "simulator/default_profile.h"
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

// None: there is no such file, or it is of other versions of the libraries.
absl::StatusOr<std::optional<DeviceProfile>> ReadCached(
    const DeviceFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path, CachedProfilePath(flags));
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(path);
  if (!profile.ok()) {
    return Annotate(profile.status(),
                    "cached profile (remove the file to do without)");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::string libraries, LibrariesOf(flags));
  if (profile->libraries != libraries) {
    spdlog::warn(
        "{} is of \"{}\", not of \"{}\", and is not used; spillway "
        "profile measures anew",
        path, profile->libraries, libraries);
    return std::nullopt;
  }
  return *std::move(profile);
}

absl::StatusOr<DeviceProfile> FindProfile(const DeviceFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<DeviceProfile> cached,
                            ReadCached(flags));
  if (cached) return *std::move(cached);
  DeviceFlags full_speed = flags;
  full_speed.link_gbps = 0;
  SPILLWAY_ASSIGN_OR_RETURN(cached, ReadCached(full_speed));
  if (cached) return *std::move(cached);
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenDevice(flags, MemoryFlags{}));
  if (device->kind() == DeviceKind::kCuda) return DefaultGpuProfile();
  DeviceProfile profile =
      DefaultCpuProfile(ResolveThreads(static_cast<int>(flags.threads)));
  profile.in_turn = device->name() == "inline";
  return profile;
}

}  // namespace

absl::StatusOr<std::string> LibrariesOf(const DeviceFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenDevice(flags, MemoryFlags{}));
  return KernelLibraries(device->kind());
}

absl::StatusOr<std::string> DescribeDevice(const DeviceFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenDevice(flags, MemoryFlags{}));
  if (!device->model().empty()) {
    return fmt::format("{}{}{}", std::string(device->model()),
                       flags.math.allow_tf32 ? ", tf32" : "",
                       flags.math.deterministic ? "" : ", not deterministic");
  }
  const int threads = ResolveThreads(static_cast<int>(flags.threads));
  std::string text = fmt::format("{}, {} thread{}", std::string(device->name()),
                                 threads, threads == 1 ? "" : "s");
  if (flags.link_gbps > 0) {
    text += fmt::format(", link {} gbps", flags.link_gbps);
  }
  return text;
}

absl::StatusOr<std::string> CachedProfilePath(const DeviceFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string device, DescribeDevice(flags));
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : fmt::format("{}/{}", folder, FileName(device));
}

absl::StatusOr<DeviceProfile> ResolveProfile(const std::string& path,
                                             const DeviceFlags& flags) {
  absl::StatusOr<DeviceProfile> profile =
      path.empty() ? FindProfile(flags) : ReadDeviceProfile(path);
  if (!profile.ok()) {
    return path.empty() ? profile.status()
                        : Annotate(profile.status(), "--profile");
  }
  if (flags.link_gbps > 0) {
    const double rate = flags.link_gbps * 1e9;
    for (LinkDirection* link : {&profile->to_host, &profile->to_device}) {
      *link = LimitRate(*link, rate, profile->wake_ns);
    }
  }
  if (flags.cuda_graph) *profile = ForCapturedSteps(*std::move(profile));
  return profile;
}

}  // namespace spillway

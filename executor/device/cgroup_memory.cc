#include "executor/device/cgroup_memory.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace spillway {
namespace {

namespace fs = std::filesystem;

// Names that differ between the two versions.
struct CgroupVersion {
  std::string_view mount_type = {};
  std::string_view controller = {};  // of version 1; else empty
  std::string_view limit_file = {};
  std::string_view use_file = {};
  std::string_view droppable = {};  // a line of memory.stat
};

constexpr CgroupVersion kVersions[] = {
    {.mount_type = "cgroup",
     .controller = "memory",
     .limit_file = "memory.limit_in_bytes",
     .use_file = "memory.usage_in_bytes",
     .droppable = "total_inactive_file"},
    {.mount_type = "cgroup2",
     .limit_file = "memory.max",
     .use_file = "memory.current",
     .droppable = "inactive_file"},
};

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

bool Contains(std::string_view comma_separated, std::string_view word) {
  return std::ranges::count(Split(comma_separated, ','), word) > 0;
}

// A non-negative number of bytes; nothing for "max" and any other text.
std::optional<int64_t> ParseBytes(std::string_view text) {
  int64_t bytes = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), bytes);
  const bool is_number =
      error == std::errc() && bytes >= 0 && end == text.data() + text.size();
  return is_number ? std::optional(bytes) : std::nullopt;
}

// Reads the first line of a file, which is a number.
std::optional<int64_t> ReadBytes(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return ParseBytes(line);
}

// The number after `name` in a file of lines "<name> <number>".
std::optional<int64_t> ReadStat(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() == 2 && words[0] == name) return ParseBytes(words[1]);
  }
  return std::nullopt;
}

// The process's group within the hierarchy, "/docker/1f2e". Lines of
// /proc/self/cgroup are "4:memory:/docker/1f2e", "0::/docker/1f2e".
std::optional<std::string> GroupPath(const std::string& root,
                                     const CgroupVersion& version) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = version.controller.empty()
                           ? line.starts_with("0::")
                           : Contains(controllers, version.controller);
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Where a hierarchy is mounted, and the group at its mount point.
struct Mount {
  std::string group = {};
  std::string point = {};
};

// Lines of /proc/self/mountinfo are "35 31 0:32 /group /mount/point options ...
// - type source options".
std::optional<Mount> FindMount(const std::string& root,
                               const CgroupVersion& version) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = Split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const std::string& type = dash[1];
    const std::string& options = dash[3];
    if (type == version.mount_type &&
        (version.controller.empty() || Contains(options, version.controller))) {
      return Mount{.group = words[3], .point = words[4]};
    }
  }
  return std::nullopt;
}

// The part of `path` below `group`; empty if the path is outside, as in a
// container whose mount shows its own group.
fs::path PathBelow(const std::string& path, const std::string& group) {
  const fs::path below = fs::path(path).lexically_relative(group);
  const bool is_below = !below.empty() && *below.begin() != "..";
  return is_below && below != "." ? below : fs::path();
}

void AddGroup(const fs::path& folder, const CgroupVersion& version,
              MemoryLimit& memory) {
  const std::optional<int64_t> limit = ReadBytes(folder / version.limit_file);
  if (!limit) return;
  const int64_t use = ReadBytes(folder / version.use_file).value_or(0);
  const int64_t droppable =
      ReadStat(folder / "memory.stat", version.droppable).value_or(0);
  memory.Add(*limit, std::max<int64_t>(0, use - droppable));
}

// The group and its ancestors up to the mount.
void AddGroups(const std::string& root, const CgroupVersion& version,
               MemoryLimit& memory) {
  const std::optional<std::string> path = GroupPath(root, version);
  const std::optional<Mount> mount = FindMount(root, version);
  if (!path || !mount) return;
  const fs::path top = root + mount->point;
  AddGroup(top, version, memory);
  fs::path folder = top;
  for (const fs::path& part : PathBelow(*path, mount->group)) {
    folder /= part;
    AddGroup(folder, version, memory);
  }
}

}  // namespace

MemoryLimit ReadCgroupMemory(const std::string& root) {
  MemoryLimit memory;
  for (const CgroupVersion& version : kVersions) {
    AddGroups(root, version, memory);
  }
  return memory;
}

}  // namespace spillway

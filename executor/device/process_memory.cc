#include "executor/device/process_memory.h"

#include <sys/resource.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// The number after `name` in a line of the file, "Max data size  8192 ..." or
// "VmSize:   1234 kB"; nothing for "unlimited".
std::optional<int64_t> NumberBehind(const std::string& path,
                                    std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = std::string_view(line).substr(name.size());
    const size_t begin = rest.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return std::nullopt;
    int64_t number = 0;
    const auto parsed =
        std::from_chars(rest.data() + begin, rest.data() + rest.size(), number);
    if (parsed.ec != std::errc()) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

void AddLimit(std::optional<int64_t> limit_bytes,
              std::optional<int64_t> used_kib, MemoryLimit& memory) {
  constexpr int64_t kMostKib = int64_t{1} << 52;
  if (!limit_bytes || !used_kib || *used_kib > kMostKib) return;
  memory.Add(*limit_bytes, *used_kib * 1_KiB);
}

}  // namespace

MemoryLimit ReadProcessMemory(const std::string& root) {
  const std::string limits = root + "/proc/self/limits";
  const std::string status = root + "/proc/self/status";
  MemoryLimit memory;
  AddLimit(NumberBehind(limits, "Max address space"),
           NumberBehind(status, "VmSize:"), memory);
  AddLimit(NumberBehind(limits, "Max data size"),
           NumberBehind(status, "VmData:"), memory);
  return memory;
}

absl::Status CheckMayMap(int64_t bytes, std::string_view purpose) {
  rlimit space = {};
  rlimit data = {};
  getrlimit(RLIMIT_AS, &space);
  getrlimit(RLIMIT_DATA, &data);
  if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) {
    return absl::OkStatus();
  }
  const std::optional<int64_t> free = ReadProcessMemory().free_bytes;
  if (!free || *free >= bytes) return absl::OkStatus();
  return ResourceExhausted(fmt::format(
      "this process may map {} more (ulimit -v or -d), and needs {} {}",
      FormatBytes(*free), FormatBytes(bytes), purpose));
}

}  // namespace spillway

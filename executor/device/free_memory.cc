#include "executor/device/free_memory.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/device/cgroup_memory.h"
#include "executor/device/process_memory.h"

namespace spillway {
namespace {

// Parses a line "MemTotal:       24684096 kB".
std::optional<int64_t> ParseKib(std::string_view line) {
  const size_t digits = line.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  constexpr int64_t kMostKib = int64_t{1} << 52;
  int64_t kib = 0;
  const std::errc error =
      std::from_chars(line.data() + digits, line.data() + line.size(), kib).ec;
  if (error != std::errc() || kib > kMostKib) return std::nullopt;
  return kib * 1_KiB;
}

absl::StatusOr<int64_t> FromMeminfo(const std::string& root,
                                    std::string_view name) {
  std::ifstream meminfo(root + "/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    if (!line.starts_with(name)) continue;
    const std::optional<int64_t> bytes = ParseKib(line);
    if (bytes) return *bytes;
  }
  return Unavailable(fmt::format("{}/proc/meminfo has no number of kB for {}",
                                 root, std::string(name)));
}

// Stacks of one thread for each core besides the main thread.
int64_t StackBytes() {
  pthread_attr_t attributes;
  size_t each = 8_MiB;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &each);
    pthread_attr_destroy(&attributes);
  }
  return static_cast<int64_t>(each) *
         static_cast<int64_t>(std::thread::hardware_concurrency());
}

}  // namespace

absl::StatusOr<MachineMemory> ReadMachineMemory(const std::string& root) {
  MachineMemory memory;
  SPILLWAY_ASSIGN_OR_RETURN(memory.total_bytes, FromMeminfo(root, "MemTotal:"));
  SPILLWAY_ASSIGN_OR_RETURN(memory.free_bytes,
                            FromMeminfo(root, "MemAvailable:"));
  const MemoryLimit process = ReadProcessMemory(root);
  for (const MemoryLimit& limit : {ReadCgroupMemory(root), process}) {
    memory.total_bytes = std::min(
        memory.total_bytes, limit.limit_bytes.value_or(memory.total_bytes));
    memory.free_bytes = std::min(memory.free_bytes,
                                 limit.free_bytes.value_or(memory.free_bytes));
  }
  memory.process_is_limited = process.limit_bytes.has_value();
  return memory;
}

absl::StatusOr<int64_t> MachineFreeBytes() {
  SPILLWAY_ASSIGN_OR_RETURN(const MachineMemory memory, ReadMachineMemory());
  int64_t kept = kKeptFreeBytes;
  if (memory.process_is_limited) kept += StackBytes();
  return std::max<int64_t>(memory.free_bytes - kept, 0);
}

absl::Status OutOfMemory(MemorySpace space, int64_t asked, int64_t free) {
  return ResourceExhausted(fmt::format(
      "{} bytes ({}) of {} memory were requested, but {} bytes ({}) are free",
      asked, FormatBytes(asked),
      space == MemorySpace::kDevice ? "device" : "host", free,
      FormatBytes(free)));
}

}  // namespace spillway

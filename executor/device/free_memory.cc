#include "executor/device/free_memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/status_macros.h"
#include "base/units.h"

namespace spillway {

absl::StatusOr<int64_t> MachineFreeBytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    if (line.starts_with("MemAvailable:")) {
      const size_t digits = line.find_first_of("0123456789");
      if (digits == std::string::npos) break;
      return std::strtoll(line.c_str() + digits, nullptr, 10) * 1_KiB;
    }
  }
  return Unavailable("/proc/meminfo does not say how much memory is available");
}

absl::Status OutOfMemory(MemorySpace space, int64_t asked, int64_t free) {
  return ResourceExhausted(fmt::format(
      "{} bytes ({}) of {} memory asked, {} bytes ({}) free", asked,
      FormatBytes(asked), space == MemorySpace::kDevice ? "device" : "host",
      free, FormatBytes(free)));
}

}  // namespace spillway

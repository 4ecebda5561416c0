#include "executor/device/cpu/link.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <thread>

#include "base/units.h"
#include "executor/device/cpu/copy_bytes.h"

namespace spillway {
namespace {

constexpr int64_t kChunkBytes = 1_MiB;

}  // namespace

void Link::Copy(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  if (bytes_per_ns_ == 0) {
    CopyBytes(to, from, bytes);
    return;
  }
  const Clock::time_point begin = Reserve(bytes);
  for (int64_t done = 0; done < bytes;) {
    const int64_t chunk = std::min(kChunkBytes, bytes - done);
    CopyBytes(static_cast<std::byte*>(to) + done,
              static_cast<const std::byte*>(from) + done, chunk);
    done += chunk;
    // Due times count from the beginning of the copy, so late wake-ups do not
    // add up.
    std::this_thread::sleep_until(begin + TimeFor(done));
  }
}

std::chrono::nanoseconds Link::TimeFor(int64_t bytes) const {
  return std::chrono::nanoseconds(static_cast<int64_t>(
      std::ceil(static_cast<double>(bytes) / bytes_per_ns_)));
}

Link::Clock::time_point Link::Reserve(int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point begin = std::max(Clock::now(), free_at_);
  free_at_ = begin + TimeFor(bytes);
  return begin;
}

}  // namespace spillway

// Link: one direction of the connection between "host" and "device" memory of
// the CPU backends. Its copies (copy_bytes.h) are slowed to a given rate if
// there is one, so that overlap of copies and compute can be studied without a
// GPU.
//
// A paced copy of n bytes takes at least n / rate from its call. It copies in
// chunks and sleeps until each chunk's due time, so the core stays free for
// kernels. Concurrent copies run one after the other, as on a bus. Thread-safe.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CPU_LINK_H_
#define SPILLWAY_EXECUTOR_DEVICE_CPU_LINK_H_

#include <chrono>
#include <cstdint>
#include <mutex>

namespace spillway {

class Link {
 public:
  // 1e9 bytes per second; 0: full speed.
  explicit Link(double gigabytes_per_second)
      : bytes_per_ns_(gigabytes_per_second) {}

  // Returns when the copy is done. Zero bytes is a no-op.
  void Copy(void* to, const void* from, int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::nanoseconds TimeFor(int64_t bytes) const;
  // Reserves the link for `bytes` and returns the time at which the copy may
  // begin.
  Clock::time_point Reserve(int64_t bytes);

  const double bytes_per_ns_;
  std::mutex mutex_;
  Clock::time_point free_at_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_LINK_H_

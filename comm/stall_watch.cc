#include "comm/stall_watch.h"

#include <utility>

namespace spillway {

StallWatch::StallWatch(std::chrono::milliseconds after, Report report)
    : after_(after), report_(std::move(report)) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StallWatch::Begin(int64_t call) {
  const std::lock_guard lock(mutex_);
  call_ = call;
  begun_ = Clock::now();
  if (!thread_.joinable()) thread_ = std::thread([this] { Watch(); });
}

void StallWatch::End() {
  const std::lock_guard lock(mutex_);
  call_ = -1;
}

// Looks from time to time, so that a call costs no switch of threads.
void StallWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, after_ / 4, [this] { return ends_; })) {
    if (call_ < 0 || Clock::now() - begun_ < after_) continue;
    // With the lock, so that End waits.
    report_(std::exchange(call_, -1));
  }
}

}  // namespace spillway

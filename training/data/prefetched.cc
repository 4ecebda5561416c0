#include "training/data/prefetched.h"

#include <algorithm>
#include <utility>

namespace spillway {

Prefetched::Prefetched(const Dataset& dataset, int64_t first)
    : dataset_(dataset),
      size_(dataset.size()),
      first_(std::max<int64_t>(first, 0)),
      next_(first_) {
  reader_ = std::thread([this] { ReadAll(); });
}

Prefetched::~Prefetched() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

void Prefetched::ReadAll() {
  for (int64_t i = first_; i < size_; ++i) {
    Slot& slot = slots_[static_cast<size_t>(i % 2)];
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !slot.has_value(); });
      if (stop_) return;
    }
    absl::StatusOr<Batch> sample = dataset_.Get(i);
    {
      const std::lock_guard lock(mutex_);
      slot = std::move(sample);
    }
    changed_.notify_all();
  }
}

absl::StatusOr<Batch> Prefetched::Next() {
  if (next_ >= size_) return Batch();
  Slot& slot = slots_[static_cast<size_t>(next_ % 2)];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return slot.has_value(); });
  absl::StatusOr<Batch> sample = *std::exchange(slot, std::nullopt);
  lock.unlock();
  changed_.notify_all();
  ++next_;
  return sample;
}

}  // namespace spillway

#include "training/data/prefetched.h"

#include <algorithm>
#include <utility>

namespace spillway {
namespace {

std::function<absl::StatusOr<Batch>()> ReadFrom(const Dataset& dataset,
                                                int64_t first) {
  return [&dataset, next = std::max<int64_t>(
                        first, 0)]() mutable -> absl::StatusOr<Batch> {
    if (next >= dataset.size()) return Batch();
    return dataset.Get(next++);
  };
}

bool IsEnd(const absl::StatusOr<Batch>& sample) {
  return sample.ok() && sample->empty();
}

}  // namespace

Prefetched::Prefetched(std::function<absl::StatusOr<Batch>()> read)
    : read_(std::move(read)) {
  reader_ = std::thread([this] { ReadAll(); });
}

Prefetched::Prefetched(const Dataset& dataset, int64_t first)
    : Prefetched(ReadFrom(dataset, first)) {}

Prefetched::~Prefetched() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

void Prefetched::ReadAll() {
  for (size_t i = 0;; ++i) {
    Slot& slot = slots_[i % slots_.size()];
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !slot.has_value(); });
      if (stop_) return;
    }
    absl::StatusOr<Batch> sample = read_();
    const bool is_end = IsEnd(sample);
    {
      const std::lock_guard lock(mutex_);
      slot = std::move(sample);
    }
    changed_.notify_all();
    if (is_end) return;
  }
}

absl::StatusOr<Batch> Prefetched::Next() {
  if (is_over_) return Batch();
  Slot& slot = slots_[next_ % slots_.size()];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return slot.has_value(); });
  absl::StatusOr<Batch> sample = *std::exchange(slot, std::nullopt);
  lock.unlock();
  changed_.notify_all();
  ++next_;
  is_over_ = IsEnd(sample);
  return sample;
}

}  // namespace spillway

#include "training/data/prefetched.h"

#include <utility>

namespace spillway {

Prefetched::Prefetched(const Dataset& dataset) : dataset_(dataset) {
  for (Slot& slot : slots_) {
    for (const TensorType& field : dataset.fields()) {
      slot.fields.emplace_back(static_cast<size_t>(field.num_bytes()));
    }
  }
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

// A slot belongs to the reader while it is empty and to the caller while it is
// full; only the flag is read and written under the lock.
void Prefetched::ReadAll() {
  for (int64_t i = 0; i < dataset_.size(); ++i) {
    Slot& slot = slots_[static_cast<size_t>(i % 2)];
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !slot.is_full; });
      if (stop_) return;
    }
    std::vector<std::byte*> buffers;
    for (std::vector<std::byte>& field : slot.fields) {
      buffers.push_back(field.data());
    }
    slot.status = dataset_.Read(i, buffers);
    {
      const std::lock_guard lock(mutex_);
      slot.is_full = true;
    }
    changed_.notify_all();
  }
}

absl::StatusOr<std::vector<TensorView>> Prefetched::Next() {
  std::unique_lock lock(mutex_);
  if (next_ > 0) {
    slots_[static_cast<size_t>((next_ - 1) % 2)].is_full = false;
    changed_.notify_all();
  }
  if (next_ == dataset_.size()) return std::vector<TensorView>();
  const Slot& slot = slots_[static_cast<size_t>(next_ % 2)];
  changed_.wait(lock, [&] { return slot.is_full; });
  ++next_;
  if (!slot.status.ok()) return slot.status;
  std::vector<TensorView> views;
  for (size_t f = 0; f < slot.fields.size(); ++f) {
    views.push_back(
        {.type = dataset_.fields()[f], .data = slot.fields[f].data()});
  }
  return views;
}

}  // namespace spillway

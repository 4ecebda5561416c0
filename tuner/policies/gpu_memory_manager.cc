#include "tuner/policies/gpu_memory_manager.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {

GpuMemoryManager::GpuMemoryManager(const GpuManagerOptions& options)
    : options_(options),
      heap_(std::max<int64_t>(
          0, options.device_bytes - options.non_tensor_bytes)) {}

int32_t GpuMemoryManager::AddObject(int64_t bytes, bool is_on_host) {
  objects_.push_back({.bytes = bytes, .is_on_host = is_on_host});
  return static_cast<int32_t>(objects_.size() - 1);
}

absl::Status GpuMemoryManager::LockToRead(int32_t object) {
  Object& of = at(object);
  if (of.is_written) {
    return Internal(fmt::format("object {} is locked to be written", object));
  }
  if (!of.address && !of.is_on_host) {
    return Internal(
        fmt::format("object {} is read before it is written", object));
  }
  of.read_locks += 1;
  return Bring(of);
}

absl::Status GpuMemoryManager::LockToWrite(int32_t object) {
  Object& of = at(object);
  if (of.is_locked())
    return Internal(fmt::format("object {} is locked already", object));
  of.is_written = true;
  SPILLWAY_RETURN_IF_ERROR(Bring(of));
  of.is_dirty = true;
  return absl::OkStatus();
}

absl::Status GpuMemoryManager::Release(int32_t object) {
  Object& of = at(object);
  if (!of.is_locked())
    return Internal(fmt::format("object {} is not locked", object));
  if (of.is_written) {
    of.is_written = false;
  } else {
    of.read_locks -= 1;
  }
  of.released_at = ++clock_;
  of.releases += 1;
  return absl::OkStatus();
}

void GpuMemoryManager::Free(int32_t object) {
  Object& of = at(object);
  if (!of.address) return;
  if (options_.eager_free) {
    heap_.Free(*of.address, of.bytes);
  } else {
    cache_.emplace(of.bytes, *of.address);
  }
  of.address.reset();
}

void GpuMemoryManager::SetNextUse(int32_t object, int32_t step) {
  at(object).next_use = step;
}

int64_t GpuMemoryManager::available() const {
  return static_cast<int64_t>(static_cast<double>(heap_.free_bytes()) *
                              options_.util_factor);
}

bool GpuMemoryManager::is_on_device(int32_t object) const {
  return objects_[static_cast<size_t>(object)].address.has_value();
}

absl::Status GpuMemoryManager::Bring(Object& object) {
  if (object.address) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(object.address, Malloc(object.bytes));
  object.is_dirty = false;
  if (object.is_on_host) loaded_bytes_.push_back(object.bytes);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> GpuMemoryManager::Malloc(int64_t bytes) {
  std::optional<int64_t> address = FromCache(bytes);
  if (!address && bytes <= available()) address = FromDevice(bytes);
  if (!address) address = AfterEmptyingCache(bytes);
  if (!address) address = AfterEvictions(bytes);
  if (address) return *address;
  return ResourceExhausted(fmt::format(
      "There is not enough memory on device for this matrix, requested = {} "
      "bytes\n{}",
      bytes, MemoryTable()));
}

std::optional<int64_t> GpuMemoryManager::FromCache(int64_t bytes) {
  const auto block = cache_.find(bytes);
  if (block == cache_.end()) return std::nullopt;
  const int64_t address = block->second;
  cache_.erase(block);
  return address;
}

std::optional<int64_t> GpuMemoryManager::FromDevice(int64_t bytes) {
  const std::optional<int64_t> address = heap_.Allocate(bytes);
  const int64_t all = options_.device_bytes - options_.non_tensor_bytes;
  peak_bytes_ = std::max(peak_bytes_, all - heap_.free_bytes());
  return address;
}

void GpuMemoryManager::GiveBackCached(
    std::multimap<int64_t, int64_t>::iterator block) {
  heap_.Free(block->second, block->first);
  cache_.erase(block);
}

std::optional<int64_t> GpuMemoryManager::AfterEmptyingCache(int64_t bytes) {
  const auto block = cache_.lower_bound(bytes);
  if (block != cache_.end()) {
    GiveBackCached(block);
    return FromDevice(bytes);
  }
  while (!cache_.empty()) GiveBackCached(cache_.begin());
  if (bytes > available()) return std::nullopt;
  return FromDevice(bytes);
}

std::optional<int64_t> GpuMemoryManager::AfterEvictions(int64_t bytes) {
  if (options_.policy != EvictionPolicy::kBelady) {
    int32_t smallest = -1;
    for (const int32_t object : InOrder(bytes)) {
      const Object& of = at(object);
      if (of.bytes < bytes) continue;
      if (smallest < 0 || of.bytes < at(smallest).bytes ||
          (of.bytes == at(smallest).bytes && object < smallest)) {
        smallest = object;
      }
    }
    if (smallest >= 0) {
      Evict(smallest);
      return FromDevice(bytes);
    }
  }
  int64_t reachable = available();
  for (const int32_t object : InOrder(bytes)) {
    Evict(object);
    reachable += at(object).bytes;
    if (reachable < bytes) continue;
    const std::optional<int64_t> address = FromDevice(bytes);
    if (address) return address;
  }
  return FromDevice(bytes);  // everything that may be evicted is
}

std::vector<int32_t> GpuMemoryManager::InOrder(int64_t bytes) const {
  std::vector<int32_t> order;
  for (size_t i = 0; i < objects_.size(); ++i) {
    if (!objects_[i].address || objects_[i].is_locked()) continue;
    order.push_back(static_cast<int32_t>(i));
  }
  const auto key = [&](int32_t object) -> std::pair<int64_t, int64_t> {
    const Object& of = objects_[static_cast<size_t>(object)];
    switch (options_.policy) {
      case EvictionPolicy::kLru:
        return {of.released_at, 0};
      case EvictionPolicy::kMru:
        return {-of.released_at, 0};
      case EvictionPolicy::kLfu:
        return {of.releases, 0};
      case EvictionPolicy::kMinEvict:
        return of.bytes >= bytes ? std::pair<int64_t, int64_t>(0, of.bytes)
                                 : std::pair<int64_t, int64_t>(1, -of.bytes);
      case EvictionPolicy::kAlignMemory:
        return {-*of.address, 0};
      case EvictionPolicy::kBelady:
        return {-int64_t{of.next_use}, 0};
    }
    return {0, 0};
  };
  std::ranges::stable_sort(order, {}, key);
  return order;
}

void GpuMemoryManager::Evict(int32_t object) {
  Object& of = at(object);
  evictions_.push_back(
      {.storage = object, .bytes = of.bytes, .is_copied = of.is_dirty});
  if (of.is_dirty) of.is_on_host = true;
  of.is_dirty = false;
  heap_.Free(*of.address, of.bytes);
  of.address.reset();
}

std::string GpuMemoryManager::MemoryTable() const {
  struct Row {
    int64_t number = 0;
    int64_t bytes = 0;
    void Add(int64_t of) {
      ++number;
      bytes += of;
    }
  };
  Row dirty, clean, locked, cached;
  for (const Object& of : objects_) {
    if (!of.address) continue;
    (of.is_locked() ? locked : of.is_dirty ? dirty : clean).Add(of.bytes);
  }
  for (const auto& [bytes, address] : cache_) cached.Add(bytes);
  const Row all = {dirty.number + clean.number + locked.number + cached.number,
                   dirty.bytes + clean.bytes + locked.bytes + cached.bytes};
  std::string text;
  const auto add = [&](const char* name, const Row& row) {
    text += fmt::format("{:<14} {:>7} {:>15}\n", name, row.number, row.bytes);
  };
  add("Unlocked dirty", dirty);
  add("Unlocked clean", clean);
  add("Locked", locked);
  add("Cached free", cached);
  add("Non-tensor",
      {options_.non_tensor_bytes > 0 ? 1 : 0, options_.non_tensor_bytes});
  add("All pointers", all);
  add("Free", {1, heap_.free_bytes()});
  add("Total", {1, options_.device_bytes});
  return text;
}

}  // namespace spillway

#include "tuner/policies/device_heap.h"

#include <iterator>

namespace spillway {

DeviceHeap::DeviceHeap(int64_t bytes) : free_bytes_(bytes) {
  if (bytes > 0) holes_.emplace(0, bytes);
}

std::optional<int64_t> DeviceHeap::Allocate(int64_t bytes) {
  for (auto it = holes_.begin(); it != holes_.end(); ++it) {
    const auto [address, hole] = *it;
    if (hole < bytes) continue;
    holes_.erase(it);
    if (hole > bytes) holes_.emplace(address + bytes, hole - bytes);
    free_bytes_ -= bytes;
    return address;
  }
  return std::nullopt;
}

void DeviceHeap::Free(int64_t address, int64_t bytes) {
  free_bytes_ += bytes;
  auto it = holes_.emplace(address, bytes).first;
  const auto next = std::next(it);
  if (next != holes_.end() && address + bytes == next->first) {
    it->second += next->second;
    holes_.erase(next);
  }
  if (it == holes_.begin()) return;
  const auto previous = std::prev(it);
  if (previous->first + previous->second != address) return;
  previous->second += it->second;
  holes_.erase(it);
}

}  // namespace spillway

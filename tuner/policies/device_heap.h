// DeviceHeap: an allocator by address, as cudaMalloc is used by frameworks
// without a plan. It takes the first hole that is large enough, so holes
// between blocks may be too small although there are enough free bytes.
#ifndef SPILLWAY_TUNER_POLICIES_DEVICE_HEAP_H_
#define SPILLWAY_TUNER_POLICIES_DEVICE_HEAP_H_

#include <cstdint>
#include <map>
#include <optional>

namespace spillway {

class DeviceHeap {
 public:
  explicit DeviceHeap(int64_t bytes);

  // The address; nullopt: no hole is large enough. Cost: O(holes).
  std::optional<int64_t> Allocate(int64_t bytes);
  // A block that Allocate returned, with its bytes.
  void Free(int64_t address, int64_t bytes);

  int64_t free_bytes() const { return free_bytes_; }

 private:
  std::map<int64_t, int64_t> holes_;  // address -> bytes; not adjacent
  int64_t free_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_DEVICE_HEAP_H_

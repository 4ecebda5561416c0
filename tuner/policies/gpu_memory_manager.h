// GpuMemoryManager: the memory manager of SystemML's GPU backend, which evicts
// matrices when an allocation does not fit. Source: github.com/apache/systemds,
// org.apache.sysml.runtime.instructions.gpu.context.GPUMemoryManager, pull
// requests 527 (the manager), 733 and 774 (its policies).
//
// An allocation takes the first of these that succeeds:
//   1. a block of exactly this size in the cache of released blocks;
//   2. the device, if available() suffices;
//   3. the device, after the smallest cached block of at least this size was
//      given back to it;
//   4. the device, after all cached blocks were given back;
//   5. the device, after the smallest unlocked object of at least this size was
//      evicted (not with kBelady, which is ours, so that its order decides);
//   6. the device, after unlocked objects were evicted in the policy's order,
//      until the bytes suffice and a hole is large enough.
// An evicted object is copied to the host if it is dirty. Locked objects stay.
//
// Left out: zeroing what was allocated, whose time is small beside copies; the
// shadow buffer, which saves only the conversion of the host's matrix; sparse
// blocks, which no tensor here has.
#ifndef SPILLWAY_TUNER_POLICIES_GPU_MEMORY_MANAGER_H_
#define SPILLWAY_TUNER_POLICIES_GPU_MEMORY_MANAGER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/policies/device_heap.h"
#include "tuner/policies/played_policy.h"

namespace spillway {

// Who is evicted first. Ties go to the object that was added first.
enum class EvictionPolicy : uint8_t {
  kLru,          // whose last release is oldest; never released: first of all
  kMru,          // whose last release is newest; never released: last of all
  kLfu,          // the least releases
  kMinEvict,     // the smallest of at least the size; if none, the largest
  kAlignMemory,  // the highest address
  kBelady,       // the farthest next use
};

struct GpuManagerOptions {
  EvictionPolicy policy = EvictionPolicy::kMinEvict;
  int64_t device_bytes = 0;      // in all
  int64_t non_tensor_bytes = 0;  // the part that the manager does not have
  // The fraction of the free bytes that may be taken; above 0, at most 1.
  double util_factor = 0.9;
  // Gives released blocks back to the device at once, without the cache.
  bool eager_free = false;
};

class GpuMemoryManager {
 public:
  explicit GpuMemoryManager(const GpuManagerOptions& options);

  // `bytes` > 0. The host has the bytes of an object that is not dirty; a new
  // object that is not on the host has no bytes until it is written.
  // Returns its number; numbers count from 0.
  int32_t AddObject(int64_t bytes, bool is_on_host);

  // Brings the object to the device and locks it. A read lock is counted.
  // Errors: RESOURCE_EXHAUSTED with MemoryTable() if the device is too small;
  // INTERNAL for a read lock and a write lock at once, and for a read of an
  // object that has no bytes.
  absl::Status LockToRead(int32_t object);
  // What the object had may be overwritten in part, so it is brought too.
  absl::Status LockToWrite(int32_t object);
  // Takes back one lock. INTERNAL if there is none.
  absl::Status Release(int32_t object);
  // The object is not needed any more and must not be locked: its block goes to
  // the cache.
  void Free(int32_t object);
  // For kBelady: when the object is used next. kNeverUsed: at no time.
  static constexpr int32_t kNeverUsed = std::numeric_limits<int32_t>::max();
  void SetNextUse(int32_t object, int32_t step);

  int64_t available() const;
  bool is_on_device(int32_t object) const;
  // The most bytes taken at once, without non_tensor_bytes: all blocks, the
  // cached ones included.
  int64_t peak_bytes() const { return peak_bytes_; }
  const std::vector<Eviction>& evictions() const { return evictions_; }
  // Of each copy to the device, in order.
  const std::vector<int64_t>& loaded_bytes() const { return loaded_bytes_; }

  // Rows "Unlocked dirty", "Unlocked clean", "Locked", "Cached free",
  // "Non-tensor", "All pointers", "Free" and "Total", with number and bytes.
  std::string MemoryTable() const;

 private:
  struct Object {
    int64_t bytes = 0;
    std::optional<int64_t> address = {};  // on the device
    bool is_on_host = false;
    bool is_dirty = false;
    bool is_written = false;  // it is locked to be written
    int32_t read_locks = 0;
    int64_t released_at = 0;  // 0: never
    int64_t releases = 0;
    int32_t next_use = kNeverUsed;

    bool is_locked() const { return is_written || read_locks > 0; }
  };

  Object& at(int32_t object) { return objects_[static_cast<size_t>(object)]; }
  absl::Status Bring(Object& object);
  absl::StatusOr<int64_t> Malloc(int64_t bytes);
  std::optional<int64_t> FromCache(int64_t bytes);
  std::optional<int64_t> AfterEmptyingCache(int64_t bytes);
  std::optional<int64_t> AfterEvictions(int64_t bytes);
  std::optional<int64_t> FromDevice(int64_t bytes);
  void GiveBackCached(std::multimap<int64_t, int64_t>::iterator block);
  std::vector<int32_t> InOrder(int64_t bytes) const;
  void Evict(int32_t object);

  const GpuManagerOptions options_;
  DeviceHeap heap_;
  std::vector<Object> objects_;
  std::multimap<int64_t, int64_t> cache_;  // bytes -> address
  int64_t clock_ = 0;
  int64_t peak_bytes_ = 0;
  std::vector<Eviction> evictions_;
  std::vector<int64_t> loaded_bytes_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_GPU_MEMORY_MANAGER_H_

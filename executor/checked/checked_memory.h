// CheckedMemory: the device arena and the host pool of a session under
// --check_memory, and the buffers that are live in them.
//
// A byte is virgin until a buffer begins there, and poison between the end of
// one buffer and the beginning of the next. Any other value in a byte without a
// buffer was written by a step that does not own the byte.
//
//   virgin --Begin--> live --End--> poison --Begin--> live ...
//
// A step that writes a live buffer seals it: a digest of its bytes is kept, and
// compared when they are read. Residents live from the beginning to the end.
// Programs that share the arenas share one CheckedMemory.
// Threads: one caller at a time, while no stream works.
// Cost: O(bytes) of the buffers that are begun, ended, sealed or checked.
#ifndef SPILLWAY_EXECUTOR_CHECKED_CHECKED_MEMORY_H_
#define SPILLWAY_EXECUTOR_CHECKED_CHECKED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/interval.h"
#include "executor/arena.h"
#include "executor/device/device.h"
#include "executor/plan/plan.h"

namespace spillway {

struct CheckedMemorySpec {
  const Device* device = nullptr;  // that has the arenas
  // Borrowed for the lifetime of the CheckedMemory; must not have been used
  // yet.
  const Arena* device_arena = nullptr;
  const Arena* host_arena = nullptr;
  std::vector<Buffer> residents = {};  // disjoint in each space
};

class CheckedMemory {
 public:
  // Makes every byte virgin. Errors: UNIMPLEMENTED for a device whose memory
  // the host cannot address.
  static absl::StatusOr<CheckedMemory> Create(const CheckedMemorySpec& spec);

  // The bytes at the buffer's offset. CHECKs bounds.
  std::span<std::byte> Bytes(const Buffer& buffer) const;

  // Begins a buffer.
  // Errors: INTERNAL if another buffer is live there, or if a byte was written
  // since it was filled; names the first such buffer or byte.
  absl::Status Begin(const Buffer& buffer);
  // Ends a live buffer and poisons its bytes.
  void End(const Buffer& buffer);
  // Ends all live buffers except the residents.
  void EndAll();

  // Records the current bytes of a live buffer, resident or not, as the
  // expected ones.
  void Seal(const Buffer& buffer);
  void SealResidents();
  // Errors: INTERNAL if the buffer is not live, or does not hold what was
  // sealed.
  absl::Status CheckSealed(const Buffer& buffer) const;

  // Checks everything: live buffers hold what was sealed, and all other bytes
  // are unchanged since they were filled. Errors: INTERNAL naming the first
  // byte, or buffer.
  absl::Status CheckAll() const;

  // One past the last byte that is no longer virgin, found by inspecting the
  // bytes. (A live buffer at the very end whose last bytes happen to equal the
  // pattern counts only after it ends.)
  int64_t high_water_bytes(Space space) const;

 private:
  struct LiveBuffer {
    int64_t end = 0;
    std::string name = {};
    bool is_resident = false;
    uint64_t seal = 0;  // digest of its bytes
  };
  // By offset.
  using LiveBuffers = std::map<int64_t, LiveBuffer>;

  std::span<std::byte> memory(Space space) const {
    return memories_[static_cast<size_t>(space)];
  }
  const LiveBuffers& live(Space space) const {
    return live_[static_cast<size_t>(space)];
  }
  LiveBuffers& live(Space space) { return live_[static_cast<size_t>(space)]; }
  std::span<std::byte> Part(Space space, const Interval& range) const;
  absl::Status CheckUnused(Space space, const Interval& range) const;
  absl::Status CheckSpace(Space space) const;

  // By space.
  std::array<std::span<std::byte>, 2> memories_;
  std::array<LiveBuffers, 2> live_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_CHECKED_MEMORY_H_

// FencedBuffers: the buffers of one kernel run, laid out in a region of memory
// with fences between them, so that a write outside of a buffer is detected.
//
//   | fence | buffer 0 | fence | buffer 1 | ... | fence |
//
// Every buffer starts at a multiple of 256 bytes from the region's start; a
// fence begins right after a buffer's last byte and has at least 128 bytes.
// Cost: O(buffers) for the layout, O(bytes of the fences) to write and check.
#ifndef SPILLWAY_EXECUTOR_CHECKED_FENCED_BUFFERS_H_
#define SPILLWAY_EXECUTOR_CHECKED_FENCED_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/interval.h"

namespace spillway {

class FencedBuffers {
 public:
  // A byte of a fence that was overwritten.
  struct Damage {
    size_t buffer = 0;   // the nearest
    int64_t offset = 0;  // from its start: negative, or at least its size
  };

  // Size of a region for buffers of these sizes.
  static int64_t RegionBytes(std::span<const int64_t> sizes);

  // Lays out buffers of these sizes and writes the fences; the bytes of the
  // buffers are not touched. The region is borrowed, 256-byte aligned, and has
  // at least RegionBytes.
  FencedBuffers(std::span<std::byte> region, std::span<const int64_t> sizes);

  std::span<std::byte> operator[](size_t buffer) const {
    return Bytes(buffers_[buffer]);
  }

  // The first damage by address; nothing if the fences are intact.
  std::optional<Damage> FindDamage() const;

 private:
  std::span<std::byte> Bytes(const Interval& range) const {
    return region_.subspan(static_cast<size_t>(range.begin),
                           static_cast<size_t>(range.length()));
  }
  // The fence before buffer i; if i is the number of buffers, after the last
  // one.
  Interval Fence(size_t i) const;

  std::span<std::byte> region_;
  std::vector<Interval> buffers_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_FENCED_BUFFERS_H_

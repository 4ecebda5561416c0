// FencedBuffers: the buffers of one kernel run, laid out in a region of memory
// with fences between them, so that a write outside of them shows.
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
  // A byte of a fence that was written.
  struct Damage {
    size_t buffer = 0;   // the nearest
    int64_t offset = 0;  // from its start: negative, or its size or more
  };

  // Of a region for buffers of these sizes.
  static int64_t RegionBytes(std::span<const int64_t> sizes);

  // Lays out buffers of these sizes and writes the fences; the buffers keep
  // what is there. The region is borrowed, 256-byte aligned, of RegionBytes at
  // least.
  FencedBuffers(std::span<std::byte> region, std::span<const int64_t> sizes);

  std::span<std::byte> operator[](size_t buffer) const {
    return Bytes(buffers_[buffer]);
  }

  // The first damage by address.
  std::optional<Damage> FindDamage() const;

 private:
  std::span<std::byte> Bytes(const Interval& range) const {
    return region_.subspan(static_cast<size_t>(range.begin),
                           static_cast<size_t>(range.length()));
  }
  // The bytes before buffer i; for one more than there are, after the last.
  Interval Fence(size_t i) const;

  std::span<std::byte> region_;
  std::vector<Interval> buffers_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_FENCED_BUFFERS_H_

// RangeBytes: bytes by step, with the largest of a range and additions to a
// range.
#ifndef SPILLWAY_TUNER_SEARCH_RANGE_BYTES_H_
#define SPILLWAY_TUNER_SEARCH_RANGE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

class RangeBytes {
 public:
  explicit RangeBytes(std::vector<int64_t> bytes);

  // Half-open ranges of steps. Cost: O(steps of the range / 64 + 128).
  // Requires a range that is not empty.
  int64_t Most(int32_t begin, int32_t end) const;
  void Add(int32_t begin, int32_t end, int64_t bytes);

  // Of all steps; 0 without steps.
  int64_t Most() const;
  int64_t at(size_t step) const { return bytes_[step] + added_[step / kBlock]; }
  size_t size() const { return bytes_.size(); }

 private:
  static constexpr size_t kBlock = 64;

  std::vector<int64_t> bytes_;
  // By block of kBlock steps: what was added to all of them, and the most of
  // their bytes_.
  std::vector<int64_t> added_, most_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_RANGE_BYTES_H_

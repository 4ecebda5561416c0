// Bytes in use by buffers that count how often they will still be read, as a
// framework's tensors do; no addresses, no alignment.
#ifndef SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_
#define SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

// Every operation is O(1), amortized.
class CountedMemory {
 public:
  // The buffers 0, 1, ..., num_buffers - 1, none of them resident.
  explicit CountedMemory(size_t num_buffers) : buffers_(num_buffers) {}

  // One more buffer.
  size_t AddBuffer();

  // Makes the buffer, which is not, resident. `count` > 0.
  void Allocate(size_t buffer, int64_t bytes, int64_t count);

  bool IsResident(size_t buffer) const { return buffers_[buffer].is_resident; }
  int64_t count(size_t buffer) const { return buffers_[buffer].count; }

  // Of a resident buffer. A count does not fall below 0.
  void Increase(size_t buffer) { ++buffers_[buffer].count; }
  void Decrease(size_t buffer, int64_t by = 1);

  // Ends the residence of every buffer whose count is 0.
  void Release();

  int64_t used_bytes() const { return used_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Buffer {
    int64_t bytes = 0;
    int64_t count = 0;
    bool is_resident = false;
  };

  std::vector<Buffer> buffers_;
  std::vector<size_t> unused_;  // came to 0 since the last release
  int64_t used_bytes_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_

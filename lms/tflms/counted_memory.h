// Bytes in use by reference-counted buffers, like a framework's tensors: the
// count is the number of reads still to come. No addresses, no alignment.
#ifndef SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_
#define SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

// Every operation is O(1), amortized.
class CountedMemory {
 public:
  // Makes the buffers 0, 1, ..., num_buffers - 1; none is resident.
  explicit CountedMemory(size_t num_buffers) : buffers_(num_buffers) {}

  // Adds a buffer and returns its index.
  size_t AddBuffer();

  // Makes a buffer resident that is not. `count` > 0.
  void Allocate(size_t buffer, int64_t bytes, int64_t count);

  bool IsResident(size_t buffer) const { return buffers_[buffer].is_resident; }
  int64_t count(size_t buffer) const { return buffers_[buffer].count; }

  // For a resident buffer. A count does not fall below 0.
  void Increase(size_t buffer) { ++buffers_[buffer].count; }
  void Decrease(size_t buffer, int64_t by = 1);

  // Frees every resident buffer whose count is 0.
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
  std::vector<size_t> unused_;  // count fell to 0 since the last release
  int64_t used_bytes_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_COUNTED_MEMORY_H_

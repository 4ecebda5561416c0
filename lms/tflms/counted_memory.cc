#include "lms/tflms/counted_memory.h"

#include <algorithm>

namespace spillway {

size_t CountedMemory::AddBuffer() {
  buffers_.emplace_back();
  return buffers_.size() - 1;
}

void CountedMemory::Allocate(size_t buffer, int64_t bytes, int64_t count) {
  buffers_[buffer] = {.bytes = bytes, .count = count, .is_resident = true};
  used_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
}

void CountedMemory::Decrease(size_t buffer, int64_t by) {
  int64_t& count = buffers_[buffer].count;
  count = std::max<int64_t>(count - by, 0);
  if (count == 0) unused_.push_back(buffer);
}

void CountedMemory::Release() {
  for (const size_t index : unused_) {
    Buffer& buffer = buffers_[index];
    if (!buffer.is_resident || buffer.count > 0) continue;
    buffer.is_resident = false;
    used_bytes_ -= buffer.bytes;
  }
  unused_.clear();
}

}  // namespace spillway

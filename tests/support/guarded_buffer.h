// A heap buffer that detects misuse by a kernel: 256-byte aligned, poisoned
// with NaNs, with guard bytes on both sides.
#ifndef SPILLWAY_TESTS_SUPPORT_GUARDED_BUFFER_H_
#define SPILLWAY_TESTS_SUPPORT_GUARDED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "executor/checked/poison.h"

namespace spillway::testing {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t num_bytes)
      : num_bytes_(static_cast<size_t>(num_bytes)),
        block_(static_cast<std::byte*>(::operator new (
            num_bytes_ + 2 * kGuard, std::align_val_t{kGuard}))) {
    FillWith(Pattern::kFence, {block_.get(), num_bytes_ + 2 * kGuard});
    Poison();
  }

  // Aligned; borrowed for the lifetime of the buffer, even if it is moved.
  std::byte* data() const { return block_.get() + kGuard; }
  std::span<std::byte> bytes() const { return {data(), num_bytes_}; }

  // Makes every float32, bfloat16 and float16 in the buffer a NaN.
  void Poison() { FillWith(Pattern::kPoison, bytes()); }

  bool guards_intact() const {
    return IsGuard({block_.get(), kGuard}) &&
           IsGuard({data() + num_bytes_, kGuard});
  }

 private:
  static constexpr size_t kGuard = 256;

  static bool IsGuard(std::span<const std::byte> guard) {
    return FirstOther(Pattern::kFence, guard) == int64_t{kGuard};
  }

  struct Free {
    void operator()(std::byte* block) const {
      ::operator delete (block, std::align_val_t{kGuard});
    }
  };

  size_t num_bytes_;
  std::unique_ptr<std::byte, Free> block_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_GUARDED_BUFFER_H_

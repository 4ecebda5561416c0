// A heap buffer that shows how a kernel misuses it: 256-byte aligned, poisoned
// with NaNs, with guard bytes on both sides.
#ifndef SPILLWAY_TESTS_SUPPORT_GUARDED_BUFFER_H_
#define SPILLWAY_TESTS_SUPPORT_GUARDED_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace spillway::testing {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t num_bytes)
      : num_bytes_(static_cast<size_t>(num_bytes)),
        block_(static_cast<std::byte*>(::operator new (
            num_bytes_ + 2 * kGuard, std::align_val_t{kGuard}))) {
    std::fill_n(block_.get(), num_bytes_ + 2 * kGuard, kGuardByte);
    Poison();
  }

  // Aligned; borrowed for the life of the buffer, also when that is moved.
  std::byte* data() const { return block_.get() + kGuard; }
  std::span<std::byte> bytes() const { return {data(), num_bytes_}; }

  // Every float32, bfloat16 and float16 in it becomes a NaN.
  void Poison() { std::fill_n(data(), num_bytes_, std::byte{0xFF}); }

  bool guards_intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuardByte; };
    return std::all_of(block_.get(), data(), is_guard) &&
           std::all_of(data() + num_bytes_, data() + num_bytes_ + kGuard,
                       is_guard);
  }

 private:
  static constexpr size_t kGuard = 256;
  static constexpr std::byte kGuardByte{0xA5};

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

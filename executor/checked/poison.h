// Byte patterns that fill undefined memory, for tests and for --check_memory: a
// read yields a NaN, and a write is detected.
//
// A pattern is a 16-bit word laid out by address, its low byte at even
// addresses, so any part of a filled range can be checked alone. Every float32,
// bfloat16 and float16 that lies at a multiple of its size is a quiet NaN,
// which propagates to all results computed from it; a single repeated byte
// could only be 0xFF, which is also the integer -1. kPoison differs from the
// others in both bytes.
// Cost: that of reading or writing the bytes.
#ifndef SPILLWAY_EXECUTOR_CHECKED_POISON_H_
#define SPILLWAY_EXECUTOR_CHECKED_POISON_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace spillway {

enum class Pattern : uint16_t {
  kPoison = 0x7FC1,  // not written yet, or no longer needed
  kVirgin = 0xFFE5,  // never used
  kFence = 0xFFD3,   // around a buffer
};

void FillWith(Pattern pattern, std::span<std::byte> bytes);

// Index of the first byte that differs from the pattern; the size if none does.
int64_t FirstOther(Pattern pattern, std::span<const std::byte> bytes);

// The same for memory in which every unused byte is poison or virgin.
int64_t FirstUsed(std::span<const std::byte> bytes);

// One past the last byte that differs from the pattern; 0 if none does.
int64_t EndOfOther(Pattern pattern, std::span<const std::byte> bytes);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_POISON_H_

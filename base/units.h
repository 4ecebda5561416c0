// Sizes in bytes and times in nanoseconds are plain int64_t whose names end in
// `_bytes` and `_ns`. This header has their literals, their text and their
// parser.
#ifndef SPILLWAY_BASE_UNITS_H_
#define SPILLWAY_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace spillway {

constexpr int64_t operator""_KiB(unsigned long long n) {
  return static_cast<int64_t>(n) << 10;
}
constexpr int64_t operator""_MiB(unsigned long long n) {
  return static_cast<int64_t>(n) << 20;
}
constexpr int64_t operator""_GiB(unsigned long long n) {
  return static_cast<int64_t>(n) << 30;
}

// `bytes` rounded up to a multiple of `alignment`, a power of two.
constexpr int64_t AlignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

// "512 B", "1.5 KiB", "25.3 MiB", "1.21 GiB": three significant digits or more.
std::string FormatBytes(int64_t bytes);

// "420 ns", "13.2 us", "25.3 ms", "1.21 s", "3 min 20 s", "2 h 5 min".
std::string FormatDuration(int64_t ns);

// Parses "512MiB", "16GiB", "1.5GB", "64 KiB", "2G", "4096": units B, KB, MB,
// GB, TB (powers of 1000), KiB, MiB, GiB, TiB and K, M, G, T (powers of 1024),
// any case. Errors: INVALID_ARGUMENT for anything else, a fraction without a
// unit, negative sizes and sizes above 2^62.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_BASE_UNITS_H_

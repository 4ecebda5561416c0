#include "executor/device/cpu/copy_bytes.h"

#include <emmintrin.h>

#include <cstddef>
#include <cstring>

#include "base/units.h"

namespace spillway {
namespace {

// Smaller tensors may still be in a cache when their copy is read.
constexpr int64_t kLeastBytes = 1_MiB;

// Sanitizers do not see stores past the caches.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsWatched = true;
#else
constexpr bool kIsWatched = false;
#endif

constexpr int64_t kVectors = 4;  // of a cache line
constexpr int64_t kLineBytes = kVectors * sizeof(__m128i);

// Whole lines. `to` is aligned to a vector.
void StreamLines(std::byte* to, const std::byte* from, int64_t lines) {
  auto* to_vector = reinterpret_cast<__m128i*>(to);
  const auto* from_vector = reinterpret_cast<const __m128i*>(from);
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t i = 0; i < kVectors; ++i) {
      _mm_stream_si128(to_vector++, _mm_loadu_si128(from_vector++));
    }
  }
  _mm_sfence();  // these stores are not ordered otherwise
}

}  // namespace

void CopyBytes(void* to, const void* from, int64_t bytes) {
  auto* to_byte = static_cast<std::byte*>(to);
  const auto* from_byte = static_cast<const std::byte*>(from);
  const auto copy = [&](int64_t begin, int64_t end) {
    std::memcpy(to_byte + begin, from_byte + begin,
                static_cast<size_t>(end - begin));
  };
  if (bytes < kLeastBytes || kIsWatched) {
    copy(0, bytes);
    return;
  }
  // The lines that it fills go past the caches.
  const auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(to));
  const int64_t begin = AlignUp(address, kLineBytes) - address;
  const int64_t lines = (bytes - begin) / kLineBytes;
  copy(0, begin);
  StreamLines(to_byte + begin, from_byte + begin, lines);
  copy(begin + lines * kLineBytes, bytes);
}

}  // namespace spillway

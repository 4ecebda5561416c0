// Masks of an activation: a bit for each element of y, whether its gradient
// passes. Bit i % 8 of byte i / 8 is that of element i.
//
// Between elements and bits there are bytes, in a small buffer: compilers
// vectorise the loops over those, and a multiplication packs eight of them.
#ifndef SPILLWAY_OPS_CPU_MASK_BITS_H_
#define SPILLWAY_OPS_CPU_MASK_BITS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "ops/common/fused_activation.h"
#include "ops/cpu/storage.h"

namespace spillway {

inline constexpr int64_t kMaskBlock = 256;  // elements

// Bit k of the result is byte k of `bytes`, each 0 or 1, for k < 8.
inline uint8_t PackBytes(uint64_t bytes) {
  return static_cast<uint8_t>(bytes * 0x0102'0408'1020'4080U >> 56);
}

// The inverse.
inline uint64_t UnpackBits(uint8_t bits) {
  const uint64_t each = bits * 0x0101'0101'0101'0101U & 0x8040'2010'0804'0201U;
  // In byte k, bit k is moved up to bit 7.
  return (each + 0x0040'6070'787C'7E7FU) >> 7 & 0x0101'0101'0101'0101U;
}

// The mask of y [n], results of `activation`, which is kRelu or kRelu6. n is a
// multiple of 8.
template <typename T>
void SaveMask(FusedActivation activation, const T* y, int64_t n,
              uint8_t* mask) {
  uint8_t passes[kMaskBlock];
  const bool is_relu6 = activation == FusedActivation::kRelu6;
  for (int64_t first = 0; first < n; first += kMaskBlock) {
    const int64_t size = std::min(kMaskBlock, n - first);
    const T* from = y + first;
    if (is_relu6) {
      for (int64_t i = 0; i < size; ++i) {
        const float value = Load(from[i]);
        passes[i] = static_cast<uint8_t>(static_cast<int>(value > 0) &
                                         static_cast<int>(value < 6));
      }
    } else {
      for (int64_t i = 0; i < size; ++i) {
        passes[i] = static_cast<uint8_t>(Load(from[i]) > 0);
      }
    }
    for (int64_t i = 0; i < size; i += 8) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, passes + i, sizeof(bytes));
      mask[(first + i) / 8] = PackBytes(bytes);
    }
  }
}

// x if `passes`, 0 or 1, is 1; else 0.
inline float PassedIf(uint8_t passes, float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) &
                              -static_cast<uint32_t>(passes));
}
inline BFloat16 PassedIf(uint8_t passes, BFloat16 x) {
  return {static_cast<uint16_t>(x.bits & -passes)};
}

// dx[i] = dy[i] where the gradient passes, else 0. n is a multiple of 8; dx may
// be dy.
template <typename T>
void ApplyMask(const uint8_t* mask, const T* dy, int64_t n, T* dx) {
  uint8_t passes[kMaskBlock];
  for (int64_t first = 0; first < n; first += kMaskBlock) {
    const int64_t size = std::min(kMaskBlock, n - first);
    for (int64_t i = 0; i < size; i += 8) {
      const uint64_t bytes = UnpackBits(mask[(first + i) / 8]);
      std::memcpy(passes + i, &bytes, sizeof(bytes));
    }
    const T* from = dy + first;
    T* to = dx + first;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      to[i] = PassedIf(passes[i], from[i]);
    }
  }
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_MASK_BITS_H_

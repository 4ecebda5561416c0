// BFloat16: the upper half of a float32: its sign, its eight exponent bits and
// seven fraction bits. Storage only; arithmetic is done in float32.
//
// ToBFloat16 rounds to nearest, ties to even. Values that are too large become
// infinite; a NaN stays a (quiet) NaN. Neither function has a branch or a
// table, so loops over them are vectorised. On a GPU one instruction rounds; it
// may differ only in the payloads of NaNs.
#ifndef SPILLWAY_BASE_BFLOAT16_H_
#define SPILLWAY_BASE_BFLOAT16_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace spillway {

struct BFloat16 {
  uint16_t bits = 0;

  friend bool operator==(const BFloat16&, const BFloat16&) = default;
};

constexpr float ToFloat(BFloat16 x) {
  return std::bit_cast<float>(uint32_t{x.bits} << 16);
}

constexpr BFloat16 ToBFloat16(float x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    uint16_t narrow = 0;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
    return {narrow};
  }
#endif
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t is_odd = (bits >> 16) & 1;
  const uint32_t rounded = bits + 0x7FFF + is_odd;
  const uint32_t quiet = bits | 0x0040'0000;
  const bool is_nan = (bits & 0x7FFF'FFFF) > 0x7F80'0000;
  return {static_cast<uint16_t>((is_nan ? quiet : rounded) >> 16)};
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_BFLOAT16_H_

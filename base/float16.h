// Float16: IEEE 754's binary16: a sign, five bits of exponent and ten bits of
// fraction; from 2^-24 to 65504. Storage only; arithmetic is done in float32.
//
// ToFloat16 rounds to nearest, ties to even. Values from 65520 on become
// infinite; a NaN stays a (quiet) NaN. On a GPU each conversion is one
// instruction; it may differ only in the payloads of NaNs.
#ifndef SPILLWAY_BASE_FLOAT16_H_
#define SPILLWAY_BASE_FLOAT16_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace spillway {

struct Float16 {
  uint16_t bits = 0;

  friend bool operator==(const Float16&, const Float16&) = default;
};

constexpr float ToFloat(Float16 x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    float wide = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
  }
#endif
  const uint32_t sign = (uint32_t{x.bits} & 0x8000) << 16;
  const uint32_t magnitude = x.bits & 0x7FFF;
  // The bits of the magnitude: exponents are biased by 15 and by 127.
  const auto subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const uint32_t normal = (magnitude << 13) + (112U << 23);
  const uint32_t not_finite = (magnitude << 13) | 0x7F80'0000;
  const uint32_t wide = magnitude < 0x0400   ? subnormal
                        : magnitude < 0x7C00 ? normal
                                             : not_finite;
  return std::bit_cast<float>(sign | wide);
}

constexpr Float16 ToFloat16(float x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    uint16_t narrow = 0;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
    return {narrow};
  }
#endif
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFF'FFFF;
  // A unit in the last place of 0.5 is 2^-24: the sum rounds as a subnormal.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
      std::bit_cast<uint32_t>(0.5F);
  const uint32_t is_odd = (magnitude >> 13) & 1;
  const uint32_t rounded = (magnitude - (112U << 23) + 0xFFF + is_odd) >> 13;
  const uint32_t normal = rounded < 0x7C00 ? rounded : 0x7C00;
  const uint32_t nan = 0x7E00 | ((magnitude >> 13) & 0x03FF);
  const uint32_t narrow = magnitude < (113U << 23)   ? subnormal
                          : magnitude <= 0x7F80'0000 ? normal
                                                     : nan;
  return {static_cast<uint16_t>(sign | narrow)};
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_FLOAT16_H_

#include "base/float16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr float kHalfInfinity = std::numeric_limits<float>::infinity();

// The standard's value for the fields of a finite number.
double ValueOf(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023;
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) == 0 ? magnitude : -magnitude;
}

// Rounds to the nearest multiple of a unit in the last place, in double, ties
// to even.
double RoundedToHalf(float x) {
  const int exponent = x == 0 ? -14 : std::max(std::ilogb(x), -14);
  const double unit = std::ldexp(1, exponent - 10);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::abs(rounded) > 65504 ? std::copysign(kHalfInfinity, x) : rounded;
}

TEST(Float16, HoldsTheNumbersOfTheStandard) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = ToFloat(Float16{static_cast<uint16_t>(bits)});
    if ((bits & 0x7C00) != 0x7C00) {
      ASSERT_EQ(double{x}, ValueOf(bits)) << bits;
      ASSERT_EQ(std::signbit(x), (bits & 0x8000) != 0) << bits;
    } else if ((bits & 0x03FF) == 0) {
      ASSERT_EQ(x, bits == 0x7C00 ? kHalfInfinity : -kHalfInfinity);
    } else {
      ASSERT_TRUE(std::isnan(x)) << bits;
    }
  }
}

TEST(Float16, HoldsEveryOneOfItsNumbersExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 x = {static_cast<uint16_t>(bits)};
    if (std::isnan(ToFloat(x))) {
      EXPECT_TRUE(std::isnan(ToFloat(ToFloat16(ToFloat(x)))));
    } else {
      EXPECT_EQ(ToFloat16(ToFloat(x)).bits, bits);
    }
  }
}

TEST(Float16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(ToFloat(ToFloat16(1 + 0x1p-11F)), 1);
  EXPECT_EQ(ToFloat(ToFloat16(1 + 0x1.8p-10F)), 1 + 0x1p-9F);
  EXPECT_EQ(ToFloat(ToFloat16(1 + 0x1.002p-11F)), 1 + 0x1p-10F);
  EXPECT_EQ(ToFloat(ToFloat16(-0x1p-25F)), 0);
  EXPECT_EQ(ToFloat(ToFloat16(-0x1.8p-24F)), -0x1p-23F);
  for (uint64_t i = 0; i < 200'000; ++i) {
    const auto x = static_cast<float>(std::ldexp(
        NormalAt(5, i), static_cast<int>(Philox4x32(6, i)[0] % 48) - 28));
    ASSERT_EQ(double{ToFloat(ToFloat16(x))}, RoundedToHalf(x)) << x;
  }
}

// Halfway between two neighbours, and a little to either side.
TEST(Float16, RoundsWhatLiesBetweenItsNumbers) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto half =
        static_cast<float>((ValueOf(bits) + ValueOf(bits + 1)) / 2);
    for (const float x : {std::nextafter(half, 0.0F), half,
                          std::nextafter(half, kHalfInfinity)}) {
      ASSERT_EQ(double{ToFloat(ToFloat16(x))}, RoundedToHalf(x)) << x;
      ASSERT_EQ(double{ToFloat(ToFloat16(-x))}, -RoundedToHalf(x)) << x;
    }
  }
}

TEST(Float16, RoundsWhatIsTooLargeToInfinity) {
  EXPECT_EQ(ToFloat(ToFloat16(65519.996F)), 65504);
  EXPECT_EQ(ToFloat(ToFloat16(65520)), kHalfInfinity);
  EXPECT_EQ(ToFloat(ToFloat16(-std::numeric_limits<float>::max())),
            -kHalfInfinity);
  EXPECT_EQ(ToFloat16(kHalfInfinity).bits, 0x7C00);
}

TEST(Float16, KeepsNaNsWhoseLowerBitsAloneAreSet) {
  for (const uint32_t bits : {0x7F80'0001U, 0xFFFF'FFFFU, 0x7F80'1FFFU}) {
    EXPECT_TRUE(std::isnan(ToFloat(ToFloat16(std::bit_cast<float>(bits)))));
  }
}

TEST(Float16, IsAConstantExpression) {
  static_assert(ToFloat16(1.5F).bits == 0x3E00);
  static_assert(ToFloat(Float16{0xC000}) == -2);
  static_assert(ToFloat(ToFloat16(0x1p-24F)) == 0x1p-24F);
}

}  // namespace
}  // namespace spillway

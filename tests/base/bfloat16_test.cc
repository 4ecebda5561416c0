#include "base/bfloat16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr float kBFloatInfinity = std::numeric_limits<float>::infinity();

// x, which is normal, rounded to a multiple of a unit in the last place (2^-7
// of the leading bit), in double, ties to even.
double RoundedToBFloat(float x) {
  int exponent = 0;
  const double fraction = std::frexp(double{x}, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

TEST(BFloat16, HoldsEveryOneOfItsNumbersExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 x = {static_cast<uint16_t>(bits)};
    if (std::isnan(ToFloat(x))) {
      EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(ToFloat(x)))));
    } else {
      EXPECT_EQ(ToBFloat16(ToFloat(x)).bits, bits);
    }
  }
}

TEST(BFloat16, HasTheBitsOfThePublishedFormat) {
  EXPECT_EQ(ToBFloat16(1.0F).bits, 0x3F80);
  EXPECT_EQ(ToBFloat16(-2.0F).bits, 0xC000);
  EXPECT_EQ(ToBFloat16(3.140625F).bits, 0x4049);
  EXPECT_EQ(ToBFloat16(-0.0F).bits, 0x8000);
  EXPECT_EQ(ToBFloat16(kBFloatInfinity).bits, 0x7F80);
}

TEST(BFloat16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(ToFloat(ToBFloat16(1 + 0x1p-8F)), 1);
  EXPECT_EQ(ToFloat(ToBFloat16(1 + 0x1.8p-7F)), 1 + 0x1p-6F);
  EXPECT_EQ(ToFloat(ToBFloat16(1 + 0x1.0002p-8F)), 1 + 0x1p-7F);
  EXPECT_EQ(ToFloat(ToBFloat16(-1 - 0x1.8p-7F)), -1 - 0x1p-6F);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto x = static_cast<float>(std::ldexp(
        NormalAt(5, i), static_cast<int>(Philox4x32(6, i)[0] % 200) - 100));
    ASSERT_EQ(double{ToFloat(ToBFloat16(x))}, RoundedToBFloat(x)) << x;
  }
}

TEST(BFloat16, RoundsWhatIsTooLargeToInfinity) {
  EXPECT_EQ(ToFloat(ToBFloat16(std::numeric_limits<float>::max())),
            kBFloatInfinity);
  EXPECT_EQ(ToFloat(ToBFloat16(0x1.FEp127F)), 0x1.FEp127F);
}

TEST(BFloat16, KeepsNaNsWhoseLowerHalfAloneIsSet) {
  EXPECT_TRUE(
      std::isnan(ToFloat(ToBFloat16(std::bit_cast<float>(0x7F80'0001U)))));
  EXPECT_TRUE(
      std::isnan(ToFloat(ToBFloat16(std::bit_cast<float>(0xFFFF'FFFFU)))));
}

}  // namespace
}  // namespace spillway

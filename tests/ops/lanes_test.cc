#include "ops/cpu/lanes.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "base/bfloat16.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

// All bfloat16 values.
std::vector<BFloat16> AllBFloat16s() {
  std::vector<BFloat16> all(1 << 16);
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i] = {static_cast<uint16_t>(i)};
  }
  return all;
}

template <int kBytes>
std::vector<float> Load(const std::vector<BFloat16>& from) {
  using L = Lanes<kBytes>;
  std::vector<float> to(from.size());
  for (size_t i = 0; i < from.size(); i += L::kCount) {
    typename L::Floats lanes = {};
    L::Load(&from[i], L::kCount, lanes);
    L::Store(lanes, L::kCount, &to[i]);
  }
  return to;
}

template <int kBytes>
std::vector<BFloat16> Store(const std::vector<float>& from) {
  using L = Lanes<kBytes>;
  std::vector<BFloat16> to(from.size());
  for (size_t i = 0; i < from.size(); i += L::kCount) {
    typename L::Floats lanes = {};
    L::Load(&from[i], L::kCount, lanes);
    L::Store(lanes, L::kCount, &to[i]);
  }
  return to;
}

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Lanes, WidenEveryBFloat16Exactly) {
  const std::vector<BFloat16> all = AllBFloat16s();
  const std::vector<float> narrow = Load<16>(all);
  const std::vector<float> wide = Load<32>(all);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(Bits(narrow[i]), Bits(ToFloat(all[i])));
    ASSERT_EQ(Bits(wide[i]), Bits(ToFloat(all[i])));
  }
}

TEST(Lanes, RoundAsTheScalarFunctionDoes) {
  // Each bfloat16 and floats between it and the next: just above it, just below
  // the middle, the middle, just above the middle; including infinities and
  // NaNs.
  std::vector<float> floats;
  for (const BFloat16 x : AllBFloat16s()) {
    for (const uint32_t rest : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U}) {
      floats.push_back(std::bit_cast<float>((uint32_t{x.bits} << 16) | rest));
    }
  }
  const std::vector<BFloat16> narrow = Store<16>(floats);
  const std::vector<BFloat16> wide = Store<32>(floats);
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(narrow[i], ToBFloat16(floats[i])) << Bits(floats[i]);
    ASSERT_EQ(wide[i], ToBFloat16(floats[i])) << Bits(floats[i]);
  }
}

TEST(Lanes, TouchNothingBeyondTheirCount) {
  using L = Lanes<32>;
  const std::vector<BFloat16> from(8, ToBFloat16(1.5F));
  typename L::Floats lanes = {};
  L::Load(from.data(), 3, lanes);
  std::vector<BFloat16> to(8, ToBFloat16(7.0F));
  L::Store(lanes, 5, to.data());
  std::vector<float> floats;
  for (const BFloat16 x : to) floats.push_back(ToFloat(x));
  EXPECT_THAT(floats, ::testing::ElementsAre(1.5F, 1.5F, 1.5F, 0, 0, 7, 7, 7));
}

}  // namespace
}  // namespace spillway

#include "base/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;

constexpr int kSamples = 200'000;

// A second implementation of the generator, from the paper's equations on
// 64-bit words, over all four counter words (ours fixes the upper two to zero).
std::array<uint32_t, 4> Reference(std::array<uint32_t, 4> c,
                                  std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t{0xD2511F53} * c[0];
    const uint64_t right = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>((right >> 32) ^ c[1] ^ k[0]),
         static_cast<uint32_t>(right & 0xFFFFFFFF),
         static_cast<uint32_t>((left >> 32) ^ c[3] ^ k[1]),
         static_cast<uint32_t>(left & 0xFFFFFFFF)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

double Phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Largest distance between the samples' distribution and `cdf`
// (Kolmogorov-Smirnov); for 99.9 % of true samples it is below 1.95 / sqrt(n).
double Distance(std::vector<double> samples, double (*cdf)(double)) {
  std::ranges::sort(samples);
  const double step = 1.0 / static_cast<double>(samples.size());
  double distance = 0.0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double seen = static_cast<double>(i) * step;
    distance = std::max(distance, std::abs(cdf(samples[i]) - seen));
  }
  return distance;
}

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(RandomTest, PhiloxGivesThePublishedNumbers) {
  EXPECT_THAT(Philox4x32(0, 0),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Reference({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                        {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Reference({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                        {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomTest, PhiloxAgreesWithTheReferenceOnAllWordsOfKeyAndCounter) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t key = MixKeys(i, 1);
    const uint64_t counter = MixKeys(i, 2);
    EXPECT_EQ(Philox4x32(key, counter),
              Reference({static_cast<uint32_t>(counter),
                         static_cast<uint32_t>(counter >> 32), 0, 0},
                        {static_cast<uint32_t>(key),
                         static_cast<uint32_t>(key >> 32)}));
  }
}

TEST(RandomTest, UniformFloatStaysBelowOne) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_LT(UniformFloat(0xFFFFFFFF), 1.0f);
  EXPECT_EQ(UniformFloat(0x80000000), 0.5f);
}

TEST(RandomTest, MixKeysSeparatesNeighboursAndOrder) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 100; ++a) {
    for (uint64_t b = 0; b < 100; ++b) keys.insert(MixKeys(a, b));
  }
  EXPECT_EQ(keys.size(), 10'000u);
}

// The published FNV-1a values of "" and "foobar".
TEST(RandomTest, HashNameIsFnv1a) {
  EXPECT_EQ(HashName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashName("foobar"), 0x85944171f73967e8u);
}

TEST(RandomTest, NormalNumbersFollowTheNormalDistribution) {
  std::vector<double> samples(kSamples);
  for (size_t i = 0; i < kSamples; ++i) samples[i] = NormalAt(7, i);
  EXPECT_LT(Distance(samples, Phi), 1.95 / std::sqrt(kSamples));
}

TEST(RandomTest, TruncatedNumbersFollowTheTruncatedDistribution) {
  std::vector<double> samples(kSamples);
  for (size_t i = 0; i < kSamples; ++i) samples[i] = TruncatedNormalAt(7, i);
  EXPECT_LE(*std::ranges::max_element(samples), 2.0);
  EXPECT_GE(*std::ranges::min_element(samples), -2.0);
  const auto cdf = [](double x) {
    return (Phi(x) - Phi(-2.0)) / (Phi(2.0) - Phi(-2.0));
  };
  EXPECT_LT(Distance(samples, cdf), 1.95 / std::sqrt(kSamples));
}

TEST(RandomTest, TruncationRedrawsOnlyWhatIsTooLarge) {
  for (int i = 0; i < 1000; ++i) {
    const double x = NormalAt(3, i);
    if (std::abs(x) <= 2.0) {
      EXPECT_EQ(TruncatedNormalAt(3, i), x);
    }
  }
}

TEST(RandomTest, NumbersAreFunctionsOfKeyAndIndexAlone) {
  const double first = TruncatedNormalAt(5, 123);
  TruncatedNormalAt(5, 122);
  NormalAt(6, 123);
  EXPECT_EQ(TruncatedNormalAt(5, 123), first);
  EXPECT_NE(TruncatedNormalAt(6, 123), first);
  EXPECT_NE(TruncatedNormalAt(5, 124), first);
}

}  // namespace
}  // namespace spillway

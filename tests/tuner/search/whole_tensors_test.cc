#include "tuner/search/whole_tensors.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;

// Over all choices of tensors with at least `bytes` in total: the smallest
// contribution of the tensors from m on.
int64_t NaiveLeast(const std::vector<int64_t>& tensors, int64_t bytes,
                   size_t m) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t choice = 0; choice < (1U << tensors.size()); ++choice) {
    int64_t all = 0;
    int64_t rest = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if ((choice >> i & 1U) == 0) continue;
      all += tensors[i];
      if (i >= m) rest += tensors[i];
    }
    if (all >= bytes) least = std::min(least, rest);
  }
  return least;
}

TEST(WholeTensorsTest, OneLargeTensorMovesWhole) {
  EXPECT_THAT(LeastFromRest(std::vector<int64_t>{822}, 100), ElementsAre(822));
}

TEST(WholeTensorsTest, TheFirstMayMakeUpForTheRest) {
  // The first may contribute 50 of 80; else the second suffices.
  EXPECT_THAT(LeastFromRest(std::vector<int64_t>{50, 100}, 80),
              ElementsAre(100, 100));
  EXPECT_THAT(LeastFromRest(std::vector<int64_t>{100, 50}, 80),
              ElementsAre(100));
}

TEST(WholeTensorsTest, DustMayHaveAnySum) {
  std::vector<int64_t> tensors = {10'000};
  tensors.insert(tensors.end(), 2000, 10);
  EXPECT_THAT(LeastFromRest(tensors, 9'000), ElementsAre(9'000));
}

// Never more than the exact value, never less than the bound without whole
// tensors, and exact if no rounding is needed.
TEST(WholeTensorsTest, RandomTensorsAsAllChoicesSay) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int exact = 0;
  int total = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> tensors(1 + random() % 9);
    const int64_t largest = round % 2 == 0 ? 500 : 5'000'000'000;
    int64_t sum = 0;
    for (int64_t& bytes : tensors) {
      bytes =
          1 + static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
      sum += bytes;
    }
    const int64_t bytes =
        1 + static_cast<int64_t>(random() % static_cast<uint64_t>(sum));
    const std::vector<int64_t> least = LeastFromRest(tensors, bytes);
    int64_t left = bytes;
    for (size_t m = 0; m < tensors.size(); ++m) {
      ASSERT_EQ(m<least.size(), left> 0);
      if (left <= 0) break;
      const int64_t truth = NaiveLeast(tensors, bytes, m);
      EXPECT_LE(least[m], truth);
      EXPECT_GE(least[m], left);
      exact += least[m] == truth ? 1 : 0;
      ++total;
      left -= tensors[m];
    }
  }
  EXPECT_GT(exact, total / 3);
}

}  // namespace
}  // namespace spillway

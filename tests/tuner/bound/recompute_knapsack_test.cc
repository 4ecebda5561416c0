#include "tuner/bound/recompute_knapsack.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr int64_t kAnyKnapsackNs = std::numeric_limits<int64_t>::max();

TEST(RecomputeKnapsackTest, TakesTheCheapestBytesFirst) {
  // 0, 1 and 3 ns per byte.
  const std::vector<RemakeItem> items = {
      {.bytes = 5, .ns = 0}, {.bytes = 10, .ns = 10}, {.bytes = 10, .ns = 30}};
  const RecomputeKnapsack knapsack(items, kAnyKnapsackNs);
  EXPECT_EQ(knapsack.total_bytes(), 25);
  EXPECT_EQ(knapsack.LeastNs(0), 0);
  EXPECT_EQ(knapsack.LeastNs(5), 0);
  EXPECT_NEAR(knapsack.LeastNs(9), 4, 1e-9);
  EXPECT_NEAR(knapsack.LeastNs(16), 13, 1e-9);
  EXPECT_NEAR(knapsack.LeastNs(25), 40, 1e-9);
  EXPECT_TRUE(std::isinf(knapsack.LeastNs(26)));
  EXPECT_EQ(knapsack.MostBytes(0), 5);
  // The second item takes too long, and four ns are a part of the third one.
  EXPECT_EQ(knapsack.MostBytes(4), 6);
  EXPECT_EQ(knapsack.MostBytes(9), 8);
  // The third one would need 27 ns of the second one, which takes 10.
  EXPECT_EQ(knapsack.MostBytes(13), 15);
  // 10 bytes of the third one, and 6 ns of the second one.
  EXPECT_EQ(knapsack.MostBytes(36), 21);
  EXPECT_EQ(knapsack.MostBytes(1000), 25);
  EXPECT_EQ(knapsack.BytesUpToPrice(0.5), 5);
  EXPECT_EQ(knapsack.BytesUpToPrice(2), 15);
  EXPECT_EQ(knapsack.BytesUpToPrice(4), 25);
}

TEST(RecomputeKnapsackTest, AnItemThatTakesTooLongIsNoChoice) {
  const std::vector<RemakeItem> items = {{.bytes = 100, .ns = 50},
                                         {.bytes = 10, .ns = 10}};
  const RecomputeKnapsack knapsack(items, 49);
  EXPECT_EQ(knapsack.total_bytes(), 10);
  EXPECT_EQ(knapsack.MostBytes(49), 10);
}

TEST(RecomputeKnapsackTest, WithoutItemsNothingCanBeComputed) {
  const RecomputeKnapsack knapsack;
  EXPECT_EQ(knapsack.total_bytes(), 0);
  EXPECT_EQ(knapsack.LeastNs(0), 0);
  EXPECT_TRUE(std::isinf(knapsack.LeastNs(1)));
  EXPECT_EQ(knapsack.MostBytes(1000), 0);
  EXPECT_EQ(knapsack.BytesUpToPrice(1), 0);
}

TEST(RecomputeKnapsackTest, NoChoiceOfWholeItemsIsBetter) {
  const uint64_t seed = 20261124;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<RemakeItem> items(1 + random() % 8);
    for (RemakeItem& item : items) {
      item.bytes = 1 + static_cast<int64_t>(random() % 1'000'000'000'000);
      item.ns = static_cast<int64_t>(random() % 1'000'000'000);
    }
    std::ranges::stable_sort(items, IsCheaper);
    const RecomputeKnapsack knapsack(items, kAnyKnapsackNs);
    for (uint32_t choice = 0; choice < 1U << items.size(); ++choice) {
      int64_t bytes = 0;
      int64_t ns = 0;
      for (size_t i = 0; i < items.size(); ++i) {
        if ((choice >> i & 1U) == 0) continue;
        bytes += items[i].bytes;
        ns += items[i].ns;
      }
      EXPECT_LE(knapsack.LeastNs(bytes), static_cast<double>(ns));
      EXPECT_GE(knapsack.MostBytes(ns), bytes);
    }
  }
}

}  // namespace
}  // namespace spillway

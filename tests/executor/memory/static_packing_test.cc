#include "executor/memory/static_packing.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/units.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr int64_t kAlignment = 256;

// Naive: no two items that live together share a byte, and none sticks out.
void ExpectValid(const std::vector<PackingItem>& items,
                 const Packing& packing) {
  ASSERT_EQ(packing.offsets.size(), items.size());
  int64_t height = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(packing.offsets[i], 0);
    EXPECT_EQ(packing.offsets[i] % kAlignment, 0);
    height = std::max(height, packing.offsets[i] + items[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      const Interval a{packing.offsets[i], packing.offsets[i] + items[i].bytes};
      const Interval b{packing.offsets[j], packing.offsets[j] + items[j].bytes};
      EXPECT_FALSE(Overlap(items[i].lifetime, items[j].lifetime) &&
                   Overlap(a, b))
          << "items " << i << " and " << j;
    }
  }
  EXPECT_EQ(packing.height_bytes, height);
}

// The lowest height of any placement: some order of first fit reaches it.
int64_t BruteForceHeight(const std::vector<PackingItem>& items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(items.size(), -1);
    int64_t height = 0;
    for (const size_t i : order) {
      for (offsets[i] = 0;; offsets[i] += kAlignment) {
        const Interval mine{offsets[i], offsets[i] + items[i].bytes};
        const bool free = std::ranges::none_of(order, [&](size_t j) {
          return j != i && offsets[j] >= 0 &&
                 Overlap(items[i].lifetime, items[j].lifetime) &&
                 Overlap(mine, {offsets[j], offsets[j] + items[j].bytes});
        });
        if (free) break;
      }
      height = std::max(height, offsets[i] + items[i].bytes);
    }
    best = std::min(best, height);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

std::vector<PackingItem> RandomItems(uint32_t seed, size_t size,
                                     int64_t max_units) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> begin(0, 12);
  std::uniform_int_distribution<int64_t> length(1, 6);
  std::uniform_int_distribution<int64_t> units(1, max_units);
  std::vector<PackingItem> items(size);
  for (PackingItem& item : items) {
    item.lifetime.begin = begin(random);
    item.lifetime.end = item.lifetime.begin + length(random);
    item.bytes = units(random) * kAlignment;
  }
  return items;
}

TEST(StaticPackingTest, PacksNothingIntoNothing) {
  EXPECT_EQ(PackBuffers({}, {.alignment = kAlignment, .target_bytes = 0})
                .height_bytes,
            0);
}

TEST(StaticPackingTest, ReusesBytesOfItemsThatDied) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 2}, .bytes = 1_KiB},
      {.lifetime = {2, 4}, .bytes = 1_KiB},
  };
  EXPECT_EQ(PackBuffers(items, {.alignment = kAlignment, .target_bytes = 0})
                .height_bytes,
            1_KiB);
}

TEST(StaticPackingTest, DoesNotCountThePaddingOfTheTopItem) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 2}, .bytes = 100},
      {.lifetime = {0, 2}, .bytes = 10},
  };
  const Packing packing =
      PackBuffers(items, {.alignment = kAlignment, .target_bytes = 0});
  ExpectValid(items, packing);
  EXPECT_LE(packing.height_bytes, 256 + 100);
}

TEST(StaticPackingTest, RandomPlacementsAreValidAndAboveTheLowerBound) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items = RandomItems(seed, 40, 20);
    const Packing packing =
        PackBuffers(items, {.alignment = kAlignment, .target_bytes = 0});
    ExpectValid(items, packing);
    EXPECT_GE(packing.height_bytes, packing.lower_bound_bytes);
  }
}

TEST(StaticPackingTest, LowerBoundIsTheLargestSumOfLiveItems) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items = RandomItems(seed, 25, 9);
    int64_t largest = 0;
    for (int64_t at = 0; at < 20; ++at) {
      int64_t live = 0;
      for (const PackingItem& item : items) {
        if (item.lifetime.contains(at)) live += item.bytes;
      }
      largest = std::max(largest, live);
    }
    EXPECT_EQ(LiveBytesLowerBound(items, kAlignment), largest);
  }
}

TEST(StaticPackingTest, SmallProblemsAreSolvedNearlyAlwaysToTheOptimum) {
  int optimal = 0;
  constexpr int kProblems = 40;
  for (uint32_t seed = 0; seed < kProblems; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items = RandomItems(seed, 6, 5);
    const int64_t height =
        PackBuffers(items, {.alignment = kAlignment, .target_bytes = 0})
            .height_bytes;
    const int64_t best = BruteForceHeight(items);
    EXPECT_GE(height, best);
    EXPECT_LE(height, best + best / 4);
    optimal += height == best ? 1 : 0;
  }
  EXPECT_GE(optimal, kProblems - 2);
}

}  // namespace
}  // namespace spillway

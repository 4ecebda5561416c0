#include "executor/memory/static_packing.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/packing_instances.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::ChainItems;
using testing::GuillotineItems;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::RandomItems;
using testing::SwappedChainItems;

constexpr int64_t kAlignment = 256;

bool IsLiveAt(const PackingItem& item, int64_t at) {
  return item.lifetime.contains(at) &&
         std::ranges::none_of(
             item.gaps, [&](const Interval& gap) { return gap.contains(at); });
}

int64_t LastStep(const std::vector<PackingItem>& items) {
  int64_t last = 0;
  for (const PackingItem& item : items)
    last = std::max(last, item.lifetime.end);
  return last;
}

// The largest sum of live sizes, step by step.
int64_t NaiveLowerBound(const std::vector<PackingItem>& items,
                        int64_t alignment) {
  int64_t largest = 0;
  for (int64_t at = 0; at < LastStep(items); ++at) {
    int64_t live = 0;
    for (const PackingItem& item : items) {
      const int64_t units = (item.bytes + alignment - 1) / alignment;
      if (IsLiveAt(item, at)) live += units * alignment;
    }
    largest = std::max(largest, live);
  }
  return largest;
}

bool NaiveLiveTogether(const PackingItem& a, const PackingItem& b) {
  for (int64_t at = a.lifetime.begin; at < a.lifetime.end; ++at) {
    if (IsLiveAt(a, at) && IsLiveAt(b, at)) return true;
  }
  return false;
}

// The height of first fit in `order`, offset by offset.
int64_t NaiveFirstFit(const std::vector<PackingItem>& items,
                      const std::vector<size_t>& order, int64_t alignment) {
  std::vector<int64_t> offsets(items.size(), -1);
  int64_t height = 0;
  for (const size_t i : order) {
    for (offsets[i] = 0;; offsets[i] += alignment) {
      const Interval mine{offsets[i], offsets[i] + items[i].bytes};
      const bool is_free = std::ranges::none_of(order, [&](size_t j) {
        return j != i && offsets[j] >= 0 &&
               Overlap(mine, {offsets[j], offsets[j] + items[j].bytes}) &&
               NaiveLiveTogether(items[i], items[j]);
      });
      if (is_free) break;
    }
    height = std::max(height, offsets[i] + items[i].bytes);
  }
  return height;
}

// The lowest height of any placement: some order of first fit reaches it.
int64_t BruteForceHeight(const std::vector<PackingItem>& items,
                         int64_t alignment) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    best = std::min(best, NaiveFirstFit(items, order, alignment));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

// Packs, and checks the properties of every packing.
Packing PackAndCheck(const std::vector<PackingItem>& items,
                     const PackingOptions& options) {
  const Packing packing = PackBuffers(items, options);
  EXPECT_THAT(ValidatePacking(items, options.alignment, packing), IsOk());
  EXPECT_EQ(packing.lower_bound_bytes,
            LiveBytesLowerBound(items, options.alignment));
  EXPECT_GT(packing.height_bytes + options.alignment,
            packing.lower_bound_bytes);
  return packing;
}

TEST(PackBuffersTest, PacksNothingIntoNothing) {
  const Packing packing = PackBuffers({}, {.alignment = kAlignment});
  EXPECT_EQ(packing.height_bytes, 0);
  EXPECT_EQ(packing.lower_bound_bytes, 0);
}

TEST(PackBuffersTest, ReusesBytesOfItemsThatDied) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 2}, .bytes = 1_KiB},
      {.lifetime = {2, 4}, .bytes = 1_KiB},
  };
  EXPECT_EQ(PackAndCheck(items, {.alignment = kAlignment}).height_bytes, 1_KiB);
}

TEST(PackBuffersTest, ReusesBytesInGaps) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 9}, .bytes = 1_KiB, .gaps = {{2, 4}, {5, 8}}},
      {.lifetime = {2, 4}, .bytes = 1_KiB},
      {.lifetime = {5, 9}, .bytes = 1_KiB, .gaps = {{8, 9}}},
  };
  EXPECT_EQ(PackAndCheck(items, {.alignment = kAlignment}).height_bytes, 1_KiB);
}

TEST(PackBuffersTest, DoesNotCountThePaddingOfTheTopItem) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 2}, .bytes = 100},
      {.lifetime = {0, 2}, .bytes = 10},
  };
  const Packing packing = PackAndCheck(items, {.alignment = kAlignment});
  EXPECT_LE(packing.height_bytes, 256 + 100);
}

TEST(PackBuffersTest, ItemsWithoutBytesOrLifetimeTakeNoRoom) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 2}, .bytes = 0},
      {.lifetime = {1, 1}, .bytes = 5},
      {.lifetime = {0, 2}, .bytes = 7},
      {.lifetime = {0, 2}, .bytes = 5, .gaps = {{0, 2}}},
  };
  EXPECT_EQ(PackAndCheck(items, {}).height_bytes, 7);
}

TEST(PackBuffersTest, AnyAlignmentWillDo) {
  for (const int64_t alignment : {1, 3, 64, 100}) {
    SCOPED_TRACE(alignment);
    PackAndCheck(RandomItems({.seed = 5, .size = 60}),
                 {.alignment = alignment});
  }
}

TEST(PackBuffersTest, StopsAtTheTarget) {
  const std::vector<PackingItem> items =
      RandomItems({.seed = 1, .size = 200, .steps = 60, .max_bytes = 5000});
  const Packing lowest = PackAndCheck(items, {});
  const int64_t target = 3 * lowest.lower_bound_bytes;
  const Packing packing = PackAndCheck(items, {.target_bytes = target});
  EXPECT_LE(packing.height_bytes, target);
  EXPECT_GE(packing.height_bytes, lowest.height_bytes);
}

TEST(PackBuffersTest, StopsWhenToldTo) {
  // The heuristics cannot reach the flat top of this instance.
  const std::vector<PackingItem> items =
      GuillotineItems({.seed = 3, .size = 400, .steps = 4000});
  int asked = 0;
  PackAndCheck(items, {.search_effort = int64_t{1} << 60,
                       .stop = [&] { return ++asked == 3; }});
  EXPECT_EQ(asked, 3);
}

TEST(PackBuffersTest, LowerBoundIsTheLargestSumOfLiveItems) {
  for (uint64_t seed = 0; seed < NumCases(200); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items =
        RandomItems({.seed = seed, .size = 25, .gap_probability = 0.5});
    for (const int64_t alignment : {1, 8}) {
      EXPECT_EQ(LiveBytesLowerBound(items, alignment),
                NaiveLowerBound(items, alignment));
    }
  }
}

TEST(PackBuffersTest, RandomPlacementsAreValid) {
  for (uint64_t seed = 0; seed < NumCases(150); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    PackAndCheck(RandomItems({.seed = seed,
                              .size = 60,
                              .max_bytes = 5000,
                              .gap_probability = 0.1 * (seed % 5)}),
                 {.alignment = kAlignment, .search_effort = 200'000});
  }
}

TEST(PackBuffersTest, SmallTasksAreSolvedToTheOptimum) {
  for (uint64_t seed = 0; seed < NumCases(120); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items =
        RandomItems({.seed = seed,
                     .size = 6,
                     .steps = 12,
                     .max_bytes = 20,
                     .gap_probability = seed % 2 == 0 ? 0.0 : 0.7});
    const int64_t alignment = seed % 3 == 0 ? 4 : 1;
    const Packing packing = PackAndCheck(items, {.alignment = alignment});
    const int64_t best = BruteForceHeight(items, alignment);
    EXPECT_GE(packing.height_bytes, best);
    // The packer does not search below the bound for the top item's padding.
    EXPECT_LE(packing.height_bytes,
              std::max(best + alignment - 1, packing.lower_bound_bytes));
  }
}

TEST(PackBuffersTest, TrainingStepsArePackedToTheLowerBound) {
  for (uint64_t seed = 0; seed < NumCases(20); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (const std::vector<PackingItem>& items :
         {ChainItems(seed, 400), SwappedChainItems(seed, 400)}) {
      const Packing packing = PackAndCheck(items, {.alignment = kAlignment});
      EXPECT_LE(packing.height_bytes, packing.lower_bound_bytes);
    }
  }
}

TEST(PackBuffersTest, PlacementsWithoutAnyHoleAreFound) {
  int found = 0;
  constexpr int kTasks = 15;
  for (uint64_t seed = 0; seed < kTasks; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items =
        GuillotineItems({.seed = seed, .size = 60, .bytes = 100'000});
    const Packing packing = PackAndCheck(items, {});
    EXPECT_EQ(packing.lower_bound_bytes, 100'000);
    found += packing.height_bytes == 100'000 ? 1 : 0;
  }
  EXPECT_GE(found, kTasks - 1);
}

TEST(PackBuffersTest, TheSameItemsGetTheSameOffsets) {
  const std::vector<PackingItem> items = RandomItems(
      {.seed = 2, .size = 150, .max_bytes = 3000, .gap_probability = 0.2});
  EXPECT_EQ(PackBuffers(items, {}).offsets, PackBuffers(items, {}).offsets);
}

// Too many items for a naive check; other tests check the packer on fewer.
TEST(PackBuffersTest, AHundredThousandBuffersArePackedNearlyToTheLowerBound) {
  constexpr size_t kSize = 100'000;
  for (const std::vector<PackingItem>& items :
       {ChainItems(1, kSize), SwappedChainItems(1, kSize)}) {
    const Packing packing = PackBuffers(items, {.alignment = kAlignment});
    EXPECT_LE(packing.height_bytes,
              packing.lower_bound_bytes + packing.lower_bound_bytes / 1000);
  }
}

// A correct packing, to be damaged.
class ValidatePackingTest : public ::testing::Test {
 protected:
  void ExpectError(const std::string& message) const {
    const absl::Status status = ValidatePacking(items_, 4, packing_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  std::vector<PackingItem> items_ = {
      {.lifetime = {0, 4}, .bytes = 8},
      {.lifetime = {2, 6}, .bytes = 4},
      {.lifetime = {0, 8}, .bytes = 4, .gaps = {{2, 6}}},
  };
  Packing packing_ = {.offsets = {0, 8, 8}, .height_bytes = 12};
};

TEST_F(ValidatePackingTest, ARightOneIsAccepted) {
  EXPECT_THAT(ValidatePacking(items_, 4, packing_), IsOk());
}

TEST_F(ValidatePackingTest, SharedBytesAreFound) {
  packing_.offsets[1] = 4;
  ExpectError("items 0 and 1 live together");
}

TEST_F(ValidatePackingTest, SharedBytesBesideAGapAreFound) {
  items_[2].gaps = {{2, 5}};
  ExpectError("items 1 and 2 live together");
}

TEST_F(ValidatePackingTest, WrongAlignmentIsFound) {
  packing_.offsets[1] = 10;
  ExpectError("item 1 has offset 10");
}

TEST_F(ValidatePackingTest, NegativeOffsetsAreFound) {
  packing_.offsets[0] = -4;
  ExpectError("item 0 has offset -4");
}

TEST_F(ValidatePackingTest, AWrongHeightIsFound) {
  packing_.height_bytes = 11;
  ExpectError("the height is 12, not 11");
}

TEST_F(ValidatePackingTest, AMissingOffsetIsFound) {
  packing_.offsets.pop_back();
  ExpectError("2 offsets for 3 items");
}

// Compares with another rule, step by step, for every damage to a random
// packing that makes two items share bytes.
TEST_F(ValidatePackingTest, AgreesWithAStepByStepCheck) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    items_ = RandomItems(
        {.seed = seed, .size = 8, .max_bytes = 6, .gap_probability = 0.6});
    packing_ = PackBuffers(items_, {});
    const size_t moved = seed % items_.size();
    packing_.offsets[moved] = static_cast<int64_t>(seed / 8) % 10;
    packing_.height_bytes = 0;
    bool is_right = true;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Interval bytes{packing_.offsets[i],
                           packing_.offsets[i] + items_[i].bytes};
      packing_.height_bytes = std::max(packing_.height_bytes, bytes.end);
      const Interval other{packing_.offsets[moved],
                           packing_.offsets[moved] + items_[moved].bytes};
      is_right &= i == moved || !Overlap(bytes, other) ||
                  !NaiveLiveTogether(items_[i], items_[moved]);
    }
    EXPECT_EQ(ValidatePacking(items_, 1, packing_).ok(), is_right);
    wrong += is_right ? 0 : 1;
  }
  EXPECT_GE(wrong, LeastCases(50));
  EXPECT_LE(wrong, 250);
}

}  // namespace
}  // namespace spillway

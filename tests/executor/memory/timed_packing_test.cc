#include "executor/memory/timed_packing.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

int64_t Below(std::mt19937_64& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

// Items in steps [0, steps), none of them tiny compared to the largest; about
// ten nanoseconds per step; a copy reads every third item and ends some steps
// after the item's lifetime.
std::vector<TimedItem> RandomItems(uint64_t seed, size_t size, int64_t steps,
                                   int64_t max_bytes) {
  std::mt19937_64 random(seed);
  std::vector<TimedItem> items(size);
  for (TimedItem& item : items) {
    item.lifetime.begin = Below(random, steps);
    item.lifetime.end =
        item.lifetime.begin + 1 + Below(random, steps - item.lifetime.begin);
    item.bytes = 1 + max_bytes / 100 + Below(random, max_bytes);
    item.begin_ns = 10 * item.lifetime.begin - Below(random, 20);
    item.free_ns =
        10 * item.lifetime.end + (random() % 3 == 0 ? Below(random, 80) : 0);
  }
  return items;
}

bool BothLive(const TimedItem& a, const TimedItem& b) {
  for (int64_t at = a.lifetime.begin; at < a.lifetime.end; ++at) {
    if (b.lifetime.contains(at)) return true;
  }
  return false;
}

bool ShareBytes(const std::vector<TimedItem>& items,
                const std::vector<int64_t>& offsets, size_t i, size_t j) {
  return std::max(offsets[i], offsets[j]) <
         std::min(offsets[i] + items[i].bytes, offsets[j] + items[j].bytes);
}

// How long the later of two items that share bytes waits for the other.
int64_t PairWaitNs(const TimedItem& a, const TimedItem& b) {
  const bool a_first = a.lifetime.begin < b.lifetime.begin;
  return std::max<int64_t>(
      0, a_first ? a.free_ns - b.begin_ns : b.free_ns - a.begin_ns);
}

// Sum over the items of the longest wait for an earlier one.
int64_t WaitNs(const std::vector<TimedItem>& items,
               const std::vector<int64_t>& offsets) {
  int64_t sum = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t longest = 0;
    for (size_t j = 0; j < items.size(); ++j) {
      if (items[j].lifetime.begin >= items[i].lifetime.begin) continue;
      if (!ShareBytes(items, offsets, i, j)) continue;
      longest = std::max(longest, PairWaitNs(items[i], items[j]));
    }
    sum += longest;
  }
  return sum;
}

// The longest wait of any pair, and the sum of all waits: the total wait is
// between them.
Interval WaitRange(const std::vector<TimedItem>& items,
                   const std::vector<int64_t>& offsets) {
  Interval range;
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!ShareBytes(items, offsets, i, j)) continue;
      const int64_t wait_ns = PairWaitNs(items[i], items[j]);
      range.begin = std::max(range.begin, wait_ns);
      range.end += wait_ns;
    }
  }
  return range;
}

void ExpectValid(const std::vector<TimedItem>& items, int64_t alignment,
                 int64_t limit_bytes, const TimedPacking& packing) {
  ASSERT_EQ(packing.offsets.size(), items.size());
  int64_t height = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(packing.offsets[i], 0);
    EXPECT_EQ(packing.offsets[i] % alignment, 0);
    height = std::max(height, packing.offsets[i] + items[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(BothLive(items[i], items[j]) &&
                   ShareBytes(items, packing.offsets, i, j))
          << i << " and " << j;
    }
  }
  EXPECT_EQ(packing.height_bytes, height);
  EXPECT_LE(height, limit_bytes);
}

int64_t SumOfBytes(const std::vector<TimedItem>& items, int64_t alignment) {
  int64_t sum = 0;
  for (const TimedItem& item : items) {
    sum += (item.bytes + alignment - 1) / alignment * alignment;
  }
  return sum;
}

int64_t MostLiveBytes(const std::vector<TimedItem>& items, int64_t alignment,
                      int64_t steps) {
  int64_t most = 0;
  for (int64_t at = 0; at < steps; ++at) {
    std::vector<TimedItem> live = items;
    std::erase_if(live, [&](const TimedItem& item) {
      return !item.lifetime.contains(at);
    });
    most = std::max(most, SumOfBytes(live, alignment));
  }
  return most;
}

TEST(TimedPackingTest, TakesTheBytesThatHaveBeenFreeForLong) {
  // a's copy ends long after b's, and c may follow either of them.
  const std::vector<TimedItem> items = {
      {.lifetime = {0, 1}, .bytes = 4, .begin_ns = 0, .free_ns = 900},
      {.lifetime = {0, 1}, .bytes = 4, .begin_ns = 0, .free_ns = 100},
      {.lifetime = {1, 2}, .bytes = 4, .begin_ns = 200, .free_ns = 300}};
  const std::vector<TimedPacking> packings = PackForTime(items, 1, 8, 8);
  ASSERT_THAT(packings, Not(IsEmpty()));
  EXPECT_EQ(packings[0].wait_ns, 0);
  EXPECT_EQ(packings[0].offsets[2], packings[0].offsets[1]);
}

TEST(TimedPackingTest, WaitsWhereItMust) {
  const std::vector<TimedItem> items = {
      {.lifetime = {0, 1}, .bytes = 4, .begin_ns = 0, .free_ns = 900},
      {.lifetime = {1, 2}, .bytes = 4, .begin_ns = 200, .free_ns = 300}};
  EXPECT_EQ(PackForTime(items, 1, 8, 1).at(0).wait_ns, 0);
  EXPECT_EQ(PackForTime(items, 1, 7, 1).at(0).wait_ns, 700);
  EXPECT_THAT(PackForTime(items, 1, 3, 1), IsEmpty());
}

TEST(TimedPackingTest, RandomItemsLieWithinTheLimitLeastWaitingFirst) {
  int found = 0;
  int several = 0;
  for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    const int64_t alignment = seed % 2 == 0 ? 1 : 256;
    const auto items = RandomItems(seed, 10 + seed % 40, 24, 4000);
    const int64_t least = MostLiveBytes(items, alignment, 24);
    for (const int64_t limit : {least, least * 11 / 10, least * 3 / 2}) {
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << ", limit " << limit);
      const auto packings = PackForTime(items, alignment, limit, 6);
      EXPECT_LE(packings.size(), 6U);
      std::set<std::vector<int64_t>> distinct;
      for (const TimedPacking& packing : packings) {
        ExpectValid(items, alignment, limit, packing);
        const Interval range = WaitRange(items, packing.offsets);
        EXPECT_GE(packing.wait_ns, range.begin);
        EXPECT_LE(packing.wait_ns, range.end);
        EXPECT_TRUE(distinct.insert(packing.offsets).second);
      }
      EXPECT_TRUE(std::ranges::is_sorted(packings, {}, &TimedPacking::wait_ns));
      const auto again = PackForTime(items, alignment, limit, 6);
      ASSERT_THAT(again, SizeIs(packings.size()));
      for (size_t i = 0; i < packings.size(); ++i) {
        EXPECT_EQ(again[i].offsets, packings[i].offsets);
      }
      found += packings.empty() ? 0 : 1;
      several += packings.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(several, 100);
}

TEST(TimedPackingTest, NobodyWaitsWhereThereIsRoomForEverything) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto items = RandomItems(seed, 30, 24, 4000);
    const auto packings = PackForTime(items, 256, SumOfBytes(items, 256), 4);
    ASSERT_THAT(packings, Not(IsEmpty()));
    EXPECT_EQ(packings[0].wait_ns, 0);
    EXPECT_EQ(WaitNs(items, packings[0].offsets), 0);
  }
}

// Cuts the rectangle of these steps and bytes into `count` items or fewer,
// which therefore fit `bytes` without a wait. A copy reads every second one to
// its end, so that the packer may let others take its bytes earlier.
std::vector<TimedItem> CutItems(uint64_t seed, size_t count, int64_t steps,
                                int64_t bytes) {
  struct Rectangle {
    Interval steps = {};
    int64_t bytes = 0;
  };
  std::mt19937_64 random(seed);
  std::vector<Rectangle> pieces = {{.steps = {0, steps}, .bytes = bytes}};
  for (size_t cut = 1; cut < count; ++cut) {
    Rectangle& piece = pieces[random() % pieces.size()];
    Rectangle rest = piece;
    const bool cuts_time = random() % 2 == 0;
    const int64_t length = cuts_time ? piece.steps.length() : piece.bytes;
    if (length < (cuts_time ? 2 : bytes / 64)) continue;
    const int64_t part = 1 + Below(random, length - 1);
    if (cuts_time) {
      piece.steps.end = rest.steps.begin = piece.steps.begin + part;
    } else {
      piece.bytes = part;
      rest.bytes -= part;
    }
    pieces.push_back(rest);
  }
  std::vector<TimedItem> items;
  for (const auto& [live, size] : pieces) {
    TimedItem& item = items.emplace_back();
    item = {.lifetime = live,
            .bytes = size,
            .begin_ns = 10 * live.begin,
            .free_ns = 10 * live.end};
    if (random() % 2 == 0) {
      item.lifetime.end = live.begin + 1 + Below(random, live.length());
    }
  }
  return items;
}

TEST(TimedPackingTest, NobodyWaitsWhereTheLimitIsNearlyFull) {
  constexpr int64_t kBytes = 100'000;
  constexpr int kSeeds = 60;
  int waitless = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto items = CutItems(seed, 60, 100, kBytes);
    const int64_t limit = kBytes * 101 / 100;
    const auto packings = PackForTime(items, 1, limit, 4);
    if (packings.empty()) continue;
    ExpectValid(items, 1, limit, packings[0]);
    if (packings[0].wait_ns > 0) continue;
    ++waitless;
    EXPECT_EQ(WaitNs(items, packings[0].offsets), 0);
  }
  EXPECT_GT(waitless, kSeeds * 9 / 10);
}

TEST(TimedPackingTest, SmallItemsAreValidToo) {
  // Most items are smaller than 1/4096 of the limit.
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    auto items = RandomItems(seed, 60, 24, 4'000'000);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i % 3 != 0) items[i].bytes = 1 + items[i].bytes / 4000;
    }
    const int64_t limit = MostLiveBytes(items, 256, 24) * 5 / 4;
    for (const TimedPacking& packing : PackForTime(items, 256, limit, 3)) {
      ExpectValid(items, 256, limit, packing);
    }
  }
}

// The least sum of waits of all placements; nothing if there is no placement.
class EveryPlacement {
 public:
  EveryPlacement(const std::vector<TimedItem>& items, int64_t limit_bytes)
      : items_(items), limit_bytes_(limit_bytes) {}

  std::optional<int64_t> LeastWaitNs() {
    PlaceNext();
    return least_ns_;
  }

 private:
  void PlaceNext() {
    const size_t next = offsets_.size();
    if (next == items_.size()) {
      const int64_t wait_ns = WaitNs(items_, offsets_);
      least_ns_ = std::min(wait_ns, least_ns_.value_or(wait_ns));
      return;
    }
    for (int64_t at = 0; at + items_[next].bytes <= limit_bytes_; ++at) {
      offsets_.push_back(at);
      bool is_free = true;
      for (size_t i = 0; i < next && is_free; ++i) {
        is_free = !BothLive(items_[i], items_[next]) ||
                  !ShareBytes(items_, offsets_, i, next);
      }
      if (is_free) PlaceNext();
      offsets_.pop_back();
    }
  }

  const std::vector<TimedItem>& items_;
  const int64_t limit_bytes_;
  std::vector<int64_t> offsets_;
  std::optional<int64_t> least_ns_;
};

TEST(TimedPackingTest, TinyTasksAreMostlySolvedBest) {
  int possible = 0;
  int found = 0;
  int best = 0;
  int64_t waits_ns = 0;
  int64_t least_waits_ns = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto items = RandomItems(seed, 5, 8, 4);
    const int64_t limit =
        MostLiveBytes(items, 1, 8) + static_cast<int64_t>(seed % 2);
    const std::optional<int64_t> least_ns =
        EveryPlacement(items, limit).LeastWaitNs();
    const auto packings = PackForTime(items, 1, limit, 8);
    if (!least_ns) {
      EXPECT_THAT(packings, IsEmpty());
      continue;
    }
    ++possible;
    if (packings.empty()) continue;
    ++found;
    int64_t wait_ns = WaitNs(items, packings[0].offsets);
    for (const TimedPacking& packing : packings) {
      wait_ns = std::min(wait_ns, WaitNs(items, packing.offsets));
    }
    EXPECT_GE(wait_ns, *least_ns);
    best += wait_ns == *least_ns ? 1 : 0;
    waits_ns += wait_ns;
    least_waits_ns += *least_ns;
  }
  RecordProperty("possible", possible);
  RecordProperty("found", found);
  RecordProperty("best", best);
  RecordProperty("waits_ns", std::to_string(waits_ns));
  RecordProperty("least_waits_ns", std::to_string(least_waits_ns));
  EXPECT_GT(possible, 100);
  EXPECT_GE(found, possible * 95 / 100);
  EXPECT_GE(best, found * 8 / 10);
}

}  // namespace
}  // namespace spillway

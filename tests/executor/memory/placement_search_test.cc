#include "executor/memory/placement_search.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/packing_instances.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::GuillotineItems;
using testing::LeastCases;
using testing::NumCases;
using testing::RandomItems;

constexpr int64_t kMuch = 100'000'000;
const std::function<bool()> kNeverStop;

struct Answer {
  SearchOutcome outcome = SearchOutcome::kGaveUp;
  Packing packing = {};
};

Answer Search(const std::vector<PackingItem>& items, int64_t capacity,
              int64_t limit) {
  const PackingProblem problem = MakeProblem(items, 1);
  PlacementSearch search(problem, capacity);
  PackingEffort effort(limit, kNeverStop);
  Answer answer;
  answer.outcome = search.Continue(effort);
  if (answer.outcome != SearchOutcome::kFound) return answer;
  answer.packing.offsets = search.offsets();
  answer.packing.height_bytes = Height(problem, search.offsets());
  return answer;
}

bool IsLive(const PackingItem& item, int64_t at) {
  return item.lifetime.contains(at) &&
         std::ranges::none_of(
             item.gaps, [&](const Interval& gap) { return gap.contains(at); });
}

bool LiveTogether(const PackingItem& a, const PackingItem& b) {
  for (int64_t at = a.lifetime.begin; at < a.lifetime.end; ++at) {
    if (IsLive(a, at) && IsLive(b, at)) return true;
  }
  return false;
}

// Whether all items can be placed, given the offsets of the first few; tries
// every offset.
bool CanPlace(const std::vector<PackingItem>& items, int64_t capacity,
              std::vector<int64_t>& offsets) {
  const size_t next = offsets.size();
  if (next == items.size()) return true;
  const int64_t last = capacity - items[next].bytes;
  for (int64_t offset = 0; offset <= last; ++offset) {
    const Interval bytes{offset, offset + items[next].bytes};
    bool is_free = true;
    for (size_t i = 0; i < next && is_free; ++i) {
      is_free = !Overlap(bytes, {offsets[i], offsets[i] + items[i].bytes}) ||
                !LiveTogether(items[i], items[next]);
    }
    if (!is_free) continue;
    offsets.push_back(offset);
    if (CanPlace(items, capacity, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

TEST(PlacementSearchTest, AgreesWithTryingEveryOffset) {
  int found = 0;
  int impossible = 0;
  for (uint64_t seed = 0; seed < NumCases(150); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items =
        RandomItems({.seed = seed,
                     .size = 7,
                     .steps = 9,
                     .max_bytes = 4,
                     .gap_probability = seed % 2 == 0 ? 0.0 : 0.5});
    const int64_t lower_bound = LiveBytesLowerBound(items, 1);
    for (int64_t capacity = lower_bound - 1; capacity <= lower_bound + 2;
         ++capacity) {
      std::vector<int64_t> offsets;
      const bool can_place = CanPlace(items, capacity, offsets);
      const Answer answer = Search(items, capacity, kMuch);
      EXPECT_EQ(answer.outcome,
                can_place ? SearchOutcome::kFound : SearchOutcome::kImpossible);
      if (can_place) {
        EXPECT_TRUE(ValidatePacking(items, 1, answer.packing).ok());
        EXPECT_LE(answer.packing.height_bytes, capacity);
      }
      ++(can_place ? found : impossible);
    }
  }
  EXPECT_GT(found, LeastCases(100));
  EXPECT_GT(impossible, LeastCases(150));
}

TEST(PlacementSearchTest, FindsPlacementsWithoutAnyHole) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items =
        GuillotineItems({.seed = seed, .size = 80, .bytes = 50'000});
    const Answer answer = Search(items, 50'000, kMuch);
    ASSERT_EQ(answer.outcome, SearchOutcome::kFound);
    EXPECT_TRUE(ValidatePacking(items, 1, answer.packing).ok());
    EXPECT_EQ(answer.packing.height_bytes, 50'000);
  }
}

TEST(PlacementSearchTest, ASearchThatGaveUpCanGoOn) {
  const std::vector<PackingItem> items =
      GuillotineItems({.seed = 4, .size = 80, .bytes = 50'000});
  const PackingProblem problem = MakeProblem(items, 1);
  PlacementSearch search(problem, 50'000);
  int64_t limit = 500;
  SearchOutcome outcome = SearchOutcome::kGaveUp;
  for (; outcome == SearchOutcome::kGaveUp && limit < kMuch; limit *= 2) {
    PackingEffort effort(limit, kNeverStop);
    outcome = search.Continue(effort);
  }
  EXPECT_EQ(outcome, SearchOutcome::kFound);
  EXPECT_GT(limit, 1000);
  EXPECT_EQ(Height(problem, search.offsets()), 50'000);
}

TEST(PlacementSearchTest, ItemsThatSpanEverythingGoToTheBottom) {
  const std::vector<PackingItem> items = {
      {.lifetime = {0, 4}, .bytes = 3},
      {.lifetime = {4, 8}, .bytes = 5},
      {.lifetime = {0, 8}, .bytes = 2},
  };
  const Answer answer = Search(items, 7, 1000);
  ASSERT_EQ(answer.outcome, SearchOutcome::kFound);
  EXPECT_EQ(answer.packing.offsets, (std::vector<int64_t>{2, 2, 0}));
}

}  // namespace
}  // namespace spillway

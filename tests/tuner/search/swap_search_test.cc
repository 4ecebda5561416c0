#include "tuner/search/swap_search.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::ModelOf;
using testing::MovableGaps;
using testing::NaiveLeastBytes;
using testing::SmallRandomCase;

using Key = std::pair<int64_t, int64_t>;  // step ns, moved bytes

Key KeyOf(const PlayedStep& played) {
  return {played.step_ns, played.moved_bytes};
}

// The best of all choices of gaps of at least `threshold_bytes`; nullopt if
// none fits.
std::optional<Key> BestOfAll(const SwapPlayer& player,
                             int64_t threshold_bytes) {
  const StepModel& model = player.model();
  std::vector<size_t> gaps = MovableGaps(model);
  std::erase_if(gaps, [&](size_t i) {
    return model.gaps[i].aligned_bytes < threshold_bytes;
  });
  std::optional<Key> best;
  for (uint64_t bits = 0; bits < uint64_t{1} << gaps.size(); ++bits) {
    const PlayedStep played = player.Play(testing::ChoiceOf(model, gaps, bits));
    if (!played.fits || (best && KeyOf(played) >= *best)) continue;
    best = KeyOf(played);
  }
  return best;
}

struct Found {
  int fitting = 0;
  int optimal = 0;  // in time
  double excess = 0;
  double most_excess = 0;
};

void Compare(const SwapPlayer& player, int64_t threshold_bytes, Found& found) {
  const FoundSwaps swaps =
      SearchSwaps(player, {.size_threshold_bytes = threshold_bytes});
  const std::optional<Key> best = BestOfAll(player, threshold_bytes);
  ASSERT_EQ(swaps.played.fits, best.has_value());
  if (!best) return;
  // The reported result of the choice equals the player's.
  EXPECT_EQ(KeyOf(swaps.played), KeyOf(player.Play(swaps.moved)));
  for (size_t i = 0; i < swaps.moved.size(); ++i) {
    const Gap& gap = player.model().gaps[i];
    if (swaps.moved[i] == 0) continue;
    EXPECT_TRUE(gap.is_movable);
    EXPECT_GE(gap.aligned_bytes, threshold_bytes);
  }
  EXPECT_GE(KeyOf(swaps.played), *best);
  const double excess = static_cast<double>(swaps.played.step_ns) /
                            static_cast<double>(best->first) -
                        1;
  ++found.fitting;
  found.optimal += swaps.played.step_ns == best->first ? 1 : 0;
  found.excess += excess;
  found.most_excess = std::max(found.most_excess, excess);
}

TEST(SwapSearchTest, IsMostlyAsGoodAsTheBestOfAllChoices) {
  Found found;
  int cases = 0;
  for (uint64_t seed = 0; cases < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const StepModel model =
        ModelOf(SmallRandomCase(seed, static_cast<int>(10 + seed % 10)));
    const size_t gaps = MovableGaps(model).size();
    if (gaps < 3 || gaps > 10) continue;
    ++cases;
    for (int i = 0; i < 4; ++i) {
      const int64_t budget =
          BudgetBetween(NaiveLeastBytes(model) - 100, model.peak_bytes, i, 5);
      const SwapPlayer player(model, budget);
      Compare(player, 0, found);
      Compare(player, 700, found);
    }
  }
  RecordProperty("fitting", found.fitting);
  RecordProperty("optimal", found.optimal);
  RecordProperty("mean_excess_percent",
                 std::to_string(100 * found.excess / found.fitting));
  RecordProperty("most_excess_percent",
                 std::to_string(100 * found.most_excess));
  EXPECT_GT(found.fitting, 500);
  EXPECT_GT(found.optimal, found.fitting * 93 / 100);
  EXPECT_LT(found.excess / found.fitting, 0.005);
}

TEST(SwapSearchTest, IsTheSameOnEveryRun) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const StepModel model = ModelOf(SmallRandomCase(seed, 40));
    const SwapPlayer player(
        model, BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, 1, 3));
    const FoundSwaps first = SearchSwaps(player, {});
    const FoundSwaps second = SearchSwaps(player, {});
    EXPECT_EQ(first.moved, second.moved);
    EXPECT_EQ(first.played.back_after, second.played.back_after);
    EXPECT_EQ(first.played.step_ns, second.played.step_ns);
  }
}

TEST(SwapSearchTest, MoreWorkIsNeverWorse) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const StepModel model = ModelOf(SmallRandomCase(seed, 40));
    const SwapPlayer player(
        model, BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, 1, 3));
    const FoundSwaps none = SearchSwaps(player, {.max_work = 0});
    const FoundSwaps some = SearchSwaps(player, {.max_work = 5'000});
    const FoundSwaps much = SearchSwaps(player, {});
    ASSERT_EQ(none.played.fits, much.played.fits);
    if (!none.played.fits) continue;
    EXPECT_LE(KeyOf(some.played), KeyOf(none.played));
    EXPECT_LE(KeyOf(much.played), KeyOf(some.played));
  }
}

TEST(SwapSearchTest, NothingMovesWhereEverythingFits) {
  const StepModel model = ModelOf(SmallRandomCase(3, 30));
  const SwapPlayer player(model, model.peak_bytes);
  const FoundSwaps found = SearchSwaps(player, {});
  EXPECT_TRUE(found.played.fits);
  EXPECT_EQ(found.played.moved_bytes, 0);
}

}  // namespace
}  // namespace spillway

// Compares prices with those of all choices of small random steps.
#include "tuner/fates/fate_prices.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tuner/all_fates.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/fates/joint_search.h"

namespace spillway {
namespace {

using testing::Clonable;
using testing::IsPossible;
using testing::LeastNsOfAllFates;
using testing::NumCases;
using testing::OpenGaps;
using testing::SmallRandomCase;
using testing::SpaceOf;
using testing::TunerCase;

// The least time with this fate in the storage's longest gap. nullopt: it may
// not have it, or nothing fits.
std::optional<int64_t> LeastNsWith(const JointPlayer& player,
                                   const Fates& chosen, StorageIndex storage,
                                   Fate fate) {
  const RecomputeSpace& space = player.space();
  const size_t gap = LongestGap(space, storage);
  if (!IsPossible(space, gap, fate)) return std::nullopt;
  std::vector<char> pinned(space.num_gaps(), 0);
  pinned[gap] = 1;
  Fates start = chosen;
  start.of_gap[gap] = fate;
  return LeastNsOfAllFates(player.Pinned(std::move(pinned)), std::move(start));
}

TEST(FatePricesTest, AreThoseOfAllChoices) {
  int64_t equal = 0;
  int64_t compared = 0;
  int64_t costly = 0;
  for (int64_t seed = 1; seed <= NumCases(150); ++seed) {
    SCOPED_TRACE(seed);
    const TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 12));
    const RecomputeSpace space = SpaceOf(tuner_case);
    if (OpenGaps(space).empty() || OpenGaps(space).size() > 6) continue;
    const JointPlayer player(space, space.model.peak_bytes * 7 / 10, 0);
    const std::optional<JointStep> chosen = SearchFates(player, {}, {});
    if (!chosen) continue;
    std::vector<StorageIndex> storages;
    for (size_t i = 0; i < space.gaps_of.size(); ++i) {
      if (space.gaps_of[i].empty()) continue;
      storages.push_back(static_cast<StorageIndex>(i));
    }
    const std::vector<FatePrice> prices =
        PriceFates(player, chosen->fates, storages, {.plays = 300});
    ASSERT_EQ(prices.size(), storages.size());
    for (const FatePrice& price : prices) {
      for (const Fate fate : {Fate::kKept, Fate::kSwapped, Fate::kRecomputed}) {
        const std::optional<int64_t> least_ns =
            LeastNsWith(player, chosen->fates, price.storage, fate);
        const std::optional<int64_t>& change_ns = price.of(fate);
        if (!least_ns || !change_ns) {
          EXPECT_EQ(least_ns.has_value(), change_ns.has_value());
          continue;
        }
        ++compared;
        equal += *change_ns <= *least_ns - chosen->played.step_ns ? 1 : 0;
        costly += *change_ns > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, testing::LeastCases(50));
  EXPECT_GT(costly, testing::LeastCases(20));
  EXPECT_GE(equal, compared * 95 / 100);
}

}  // namespace
}  // namespace spillway

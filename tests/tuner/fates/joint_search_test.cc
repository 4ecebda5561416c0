// Compares the search for fates with all choices of small random steps.
#include "tuner/fates/joint_search.h"

#include <algorithm>
#include <optional>

#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tuner/all_fates.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::Clonable;
using testing::LeastNsOfAllFates;
using testing::NumCases;
using testing::OpenGaps;
using testing::SmallRandomCase;
using testing::SpaceOf;
using testing::StressSetting;
using testing::TunerCase;

TEST(JointSearchTest, IsAsGoodAsTheBestOfAllChoices) {
  constexpr size_t kMostGaps = 7;
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(300));
  int64_t compared = 0;
  int64_t best = 0;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(seed);
    const TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 12));
    const RecomputeSpace space = SpaceOf(tuner_case);
    if (OpenGaps(space).size() > kMostGaps) continue;
    const int64_t peak = space.model.peak_bytes;
    for (int i = 0; i < 4; ++i) {
      const JointPlayer player(space, BudgetBetween(peak / 3, peak, i, 4), 0);
      const std::optional<int64_t> least_ns =
          LeastNsOfAllFates(player, KeepAll(space));
      const std::optional<JointStep> found = SearchFates(player, {}, {});
      if (!least_ns) {
        EXPECT_FALSE(found.has_value());
        continue;
      }
      ++compared;
      if (!found) continue;
      ASSERT_TRUE(found->played.fits);
      // The search may also change what is retained, which the loop does not.
      best += found->played.step_ns <= *least_ns ? 1 : 0;
    }
  }
  RecordProperty("best", static_cast<int>(best));
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GT(compared, cases / 2);
  EXPECT_GE(best, compared * 99 / 100);
}

// All bytes that a step needs are counted: the player never believes that a
// step fits in less than its largest step.
TEST(JointSearchTest, StaysWithinTheBudgetAndAboveTheKernels) {
  for (int64_t seed = 1; seed <= NumCases(200); ++seed) {
    SCOPED_TRACE(seed);
    const TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 20));
    const RecomputeSpace space = SpaceOf(tuner_case);
    const int64_t budget = space.model.peak_bytes * 6 / 10;
    const std::optional<JointStep> found =
        SearchFates(JointPlayer(space, budget, 0), {}, {});
    if (!found) continue;
    EXPECT_GE(found->played.step_ns, found->model().kernels_ns);
    EXPECT_EQ(found->model().kernels_ns,
              space.model.kernels_ns + found->materialized().recompute_ns);
    EXPECT_LE(std::ranges::max(OccupiedBytes(space, *found)), budget);
  }
}

}  // namespace
}  // namespace spillway

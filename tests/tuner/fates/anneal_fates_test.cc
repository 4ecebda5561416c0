#include "tuner/fates/anneal_fates.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tuner/all_fates.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::Clonable;
using testing::IsPossible;
using testing::LeastNsOfAllFates;
using testing::NumCases;
using testing::OpenGaps;
using testing::SmallRandomCase;
using testing::SomeFates;
using testing::SpaceOf;
using testing::TunerCase;

TEST(AnnealFatesTest, NeverEndsWithASlowerStepAndOftenFindsTheBest) {
  int64_t improved = 0;
  int64_t best = 0;
  int64_t cases = 0;
  for (int64_t seed = 1; seed <= NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    const TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 12));
    const RecomputeSpace space = SpaceOf(tuner_case);
    const std::vector<size_t> gaps = OpenGaps(space);
    if (gaps.empty() || gaps.size() > 6) continue;
    const JointPlayer player(space, space.model.peak_bytes * 7 / 10, 0);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const std::optional<JointStep> start =
        player.Play(SomeFates(space, random));
    if (!start) continue;
    const AnnealOptions options = {.gaps = gaps, .plays = 300};
    const JointStep end = AnnealFates(player, *start, options);
    EXPECT_LE(end.Key(), start->Key());
    EXPECT_EQ(AnnealFates(player, *start, options).fates.of_gap,
              end.fates.of_gap);
    for (const size_t gap : gaps) {
      EXPECT_TRUE(IsPossible(space, gap, end.fates.of_gap[gap]));
    }
    ++cases;
    improved += end.played.step_ns < start->played.step_ns ? 1 : 0;
    const std::optional<int64_t> least_ns =
        LeastNsOfAllFates(player, KeepAll(space));
    ASSERT_TRUE(least_ns.has_value());
    best += end.played.step_ns <= *least_ns ? 1 : 0;
  }
  EXPECT_GT(improved, testing::LeastCases(10));
  EXPECT_GE(best, cases * 95 / 100);
}

TEST(AnnealFatesTest, StopsAtTheBound) {
  const TunerCase tuner_case = Clonable(SmallRandomCase(3, 12));
  const RecomputeSpace space = SpaceOf(tuner_case);
  const JointPlayer player(space, space.model.peak_bytes, 0);
  const std::optional<JointStep> start = player.Play(KeepAll(space));
  ASSERT_TRUE(start.has_value());
  const std::vector<size_t> gaps = OpenGaps(space);
  const JointStep end =
      AnnealFates(player, *start,
                  {.gaps = gaps,
                   .plays = 1'000'000'000'000,  // would never end
                   .bound_ns = start->played.step_ns});
  EXPECT_EQ(end.fates.of_gap, start->fates.of_gap);
}

// Without memory on the host, a step fits only if enough is recomputed.
TEST(AnnealFatesTest, MakesAStepFitByRecomputingAlone) {
  int64_t possible = 0;
  int64_t fitted = 0;
  for (int64_t seed = 1; seed <= NumCases(200); ++seed) {
    SCOPED_TRACE(seed);
    const TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 12));
    const RecomputeSpace space = SpaceOf(tuner_case);
    const std::vector<size_t> gaps = OpenGaps(space);
    if (gaps.empty() || gaps.size() > 6) continue;
    const JointPlayer player(space, space.model.peak_bytes * 8 / 10, 0, 0);
    if (player.Play(KeepAll(space))) continue;
    if (!LeastNsOfAllFates(player, KeepAll(space))) continue;
    ++possible;
    const std::optional<JointStep> step =
        FitFates(player, KeepAll(space), {.gaps = gaps, .plays = 300});
    if (!step) continue;
    ++fitted;
    EXPECT_LE(std::ranges::max(OccupiedBytes(space, *step)),
              player.budget_bytes());
    for (size_t i = 0; i < step->moved.size(); ++i) {
      if (step->moved[i] == 0) continue;
      const auto copy = static_cast<size_t>(step->model().gaps[i].copy_out);
      EXPECT_TRUE(step->model().copies[copy].is_feed);
    }
  }
  EXPECT_GT(possible, testing::LeastCases(5));
  EXPECT_GE(fitted, possible * 95 / 100);
}

}  // namespace
}  // namespace spillway

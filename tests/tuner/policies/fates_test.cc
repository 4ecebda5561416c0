// The policies as fates, on a step worked out by hand (there_and_back.h). Fates
// are written as letters, by gap: k kept, s swapped, r recomputed.
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/policies/there_and_back.h"
#include "tuner/policies/capuchin.h"
#include "tuner/policies/checkpoints.h"
#include "tuner/policies/dtr.h"
#include "tuner/policies/knapsack.h"
#include "tuner/policies/link_timetable.h"
#include "tuner/policies/play_fates.h"
#include "tuner/policies/realise.h"
#include "tuner/policies/same_for_all.h"
#include "tuner/policies/saved_gaps.h"
#include "tuner/policies/vdnn.h"

namespace spillway {
namespace {

using testing::CaseOf;
using ::testing::ElementsAre;
using testing::kBlock;
using testing::SpaceOf;
using testing::ThereAndBack;
using testing::TunerCase;

std::string Letters(const RecomputeSpace& space, const Fates& fates) {
  std::string letters;
  for (size_t i = 0; i < space.model.gaps.size(); ++i) {
    const Fate fate = fates.of_gap[i];
    letters += fate == Fate::kKept ? 'k' : fate == Fate::kSwapped ? 's' : 'r';
  }
  return letters;
}

// "none": the policy finds nothing.
std::string Chosen(FatesPolicy policy, const ThereAndBack& step,
                   int64_t blocks) {
  const TunerCase tuner_case = CaseOf(step);
  const RecomputeSpace space = SpaceOf(tuner_case);
  const std::optional<Fates> fates = policy(space, blocks * kBlock);
  return fates ? Letters(space, *fates) : "none";
}

TEST(FatesTest, TheStepIsAsDrawn) {
  const TunerCase tuner_case = CaseOf(ThereAndBack());
  const RecomputeSpace space = SpaceOf(tuner_case);
  ASSERT_EQ(space.model.gaps.size(), 2);
  EXPECT_EQ(space.model.gaps[0].last, 1);
  EXPECT_EQ(space.model.gaps[0].next, 6);
  EXPECT_EQ(space.model.gaps[1].last, 2);
  EXPECT_EQ(space.model.gaps[1].next, 5);
  EXPECT_EQ(space.model.peak_bytes, 5 * kBlock);
  EXPECT_THAT(space.can_recompute, ::testing::Each(1));
  EXPECT_THAT(SavedGaps(space.model), ElementsAre(0, 1));
}

TEST(FatesTest, SomePoliciesTreatAllTensorsAlike) {
  EXPECT_EQ(Chosen(KeepAllFates, {}, 1), "kk");
  EXPECT_EQ(Chosen(SwapAllFates, {}, 9), "ss");
  EXPECT_EQ(Chosen(RecomputeAllFates, {}, 9), "rr");
}

// b and c read a and b in the forward phase.
TEST(FatesTest, VdnnAllSwapsTheInputsOfAllLayers) {
  EXPECT_EQ(Chosen(VdnnAllFates, {}, 4), "ss");
}

TEST(FatesTest, VdnnConvSwapsTheInputsOfConvolutions) {
  EXPECT_EQ(Chosen(VdnnConvFates, {}, 4), "kk");
  EXPECT_EQ(Chosen(VdnnConvFates, {.c_op = "Conv2D"}, 4), "ks");
  EXPECT_EQ(Chosen(VdnnConvFates, {.c_op = "Conv2DBackpropFilter"}, 4), "kk");
}

// Step 4 has a block too many. The free time of a is 4000 - 2 * 1000 ns, that
// of b 2000 - 2 * 1000. a leaves in 2000-3000, before step 4 begins at 4000,
// and returns in 5000-6000, after it.
TEST(FatesTest, CapuchinSwapsTheTensorWithTheMostFreeTime) {
  EXPECT_EQ(Chosen(CapuchinFates, {}, 4), "sk");
  EXPECT_EQ(Chosen(CapuchinFates, {}, 5), "kk");
}

// Each copy takes 4000 ns: a would leave in 2000-6000.
TEST(FatesTest, CapuchinRecomputesWhatCannotBeHidden) {
  EXPECT_EQ(Chosen(CapuchinFates, {.bytes_per_ns = 0.25}, 4), "rk");
}

// Steps 3 to 5 are full even without a, so nothing returns before step 6
// without a wait, and a is recomputed. With b recomputed too, step 5 would need
// a, b, z and y, as many bytes too many as before. So b is swapped.
TEST(FatesTest, CapuchinSwapsWithWaitsWhatElseIsNeeded) {
  EXPECT_EQ(Chosen(CapuchinFates, {}, 3), "rs");
}

// No step with less than c, d and z exists.
TEST(FatesTest, CapuchinFindsNothingBelowTheLargestKernel) {
  EXPECT_EQ(Chosen(CapuchinFates, {}, 2), "none");
}

// At step 4, a was used 2000 ns ago, b 1000: h is 1000 / 2000 and 1000 / 1000,
// per byte.
TEST(FatesTest, DtrEvictsTheStalestOfEqualTensors) {
  EXPECT_EQ(Chosen(DtrFates, {}, 4), "rk");
  EXPECT_EQ(Chosen(DtrFates, {}, 5), "kk");
}

// h is 3000 / 2000 for a, 1000 / 1000 for b.
TEST(FatesTest, DtrKeepsWhatIsExpensiveToMakeAgain) {
  EXPECT_EQ(Chosen(DtrFates, {.a_ns = 3000}, 4), "kr");
}

// Step 3 evicts a for d, step 4 evicts b for z. At step 5, the clone of b needs
// a, which is made again first. Then y evicts a a second time, so it is
// released.
TEST(FatesTest, DtrReleasesWhatItEvictsTwice) {
  const TunerCase tuner_case = CaseOf(ThereAndBack());
  const RecomputeSpace space = SpaceOf(tuner_case);
  const std::optional<Fates> fates = DtrFates(space, 3 * kBlock);
  ASSERT_TRUE(fates.has_value());
  EXPECT_EQ(Letters(space, *fates), "rr");
  EXPECT_EQ(fates->released[0], kReleaseAll);
  EXPECT_EQ(fates->released[1], 0);
  EXPECT_TRUE(PlayFates(space, 3 * kBlock, *fates).has_value());
  EXPECT_FALSE(DtrFates(space, 2 * kBlock).has_value());
}

// One of the two equal tensors may be saved: the one that takes longer.
TEST(FatesTest, KnapsackSavesWhatTakesLongestToMakeAgain) {
  EXPECT_EQ(Chosen(KnapsackFates, {.a_ns = 100}, 4), "rk");
  EXPECT_EQ(Chosen(KnapsackFates, {.a_ns = 3000}, 4), "kr");
  EXPECT_EQ(Chosen(KnapsackFates, {}, 5), "kk");
}

// Without saved tensors, step 5 still has a, which was made again for b and is
// retained, b, z and y.
TEST(FatesTest, KnapsackFindsNothingIfNoFractionFits) {
  EXPECT_EQ(Chosen(KnapsackFates, {}, 3), "none");
}

// Recomputing everything needs 3 blocks: c, d, z; y's inputs and y.
TEST(FatesTest, RecomputingAllIsTheFloor) {
  const TunerCase tuner_case = CaseOf(ThereAndBack());
  const RecomputeSpace space = SpaceOf(tuner_case);
  const std::optional<JointStep> step =
      PlayFates(space, 3 * kBlock, *RecomputeAllFates(space, 0));
  ASSERT_TRUE(step.has_value());
  // a and b for y, a for x.
  EXPECT_EQ(step->materialized().clones.size(), 3);
  EXPECT_EQ(step->played.step_ns, 10'000);
  EXPECT_FALSE(PlayFates(space, 3 * kBlock - 1, step->fates).has_value());
}

// Neither adds nor removes swaps: both gaps are away, though all would fit.
TEST(FatesTest, FatesArePlayedAsTheyAre) {
  const TunerCase tuner_case = CaseOf(ThereAndBack());
  const RecomputeSpace space = SpaceOf(tuner_case);
  const Fates all = *SwapAllFates(space, 0);
  const std::optional<JointStep> step = PlayFates(space, 5 * kBlock, all);
  ASSERT_TRUE(step.has_value());
  EXPECT_THAT(step->moved, ElementsAre(1, 1));
  EXPECT_FALSE(PlayFates(space, 4 * kBlock, KeepAll(space)).has_value());
}

TEST(LinkTimetableTest, FindsTheFirstAndTheLastFreeTime) {
  LinkTimetable link;
  link.Take(10, 10);
  link.Take(25, 5);
  EXPECT_EQ(link.NextFree(0, 10), 0);
  EXPECT_EQ(link.NextFree(0, 11), 30);
  EXPECT_EQ(link.NextFree(12, 5), 20);
  EXPECT_EQ(link.LastFree(40, 10), 30);
  EXPECT_EQ(link.LastFree(34, 5), 20);
  EXPECT_EQ(link.LastFree(30, 10), 0);
}

}  // namespace
}  // namespace spillway

// Small steps whose bounds are worked out by hand: one for each way in which
// the bound could be too high.
#include "tuner/bound/joint_bound.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tuner/bound/toy_step.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/bound/lower_bound.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::LinkOf;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::RandomToyStep;
using testing::ToyModel;
using testing::ToyStep;
using testing::ToyStorage;

constexpr int64_t kToyUnit = 1024;

std::vector<ToyStep::Kernel> Kernels(int count, int64_t ns) {
  return std::vector<ToyStep::Kernel>(static_cast<size_t>(count), {.ns = ns});
}

// f0 f1 f2 f3 b3 b2 b1 b0. Storage i, a unit, is written by f_i and read by the
// next kernel and by b_i. They need 1 2 3 4 4 3 2 1 units. Gaps: storage 0
// between f1 and b0, 1 between f2 and b1, 2 between f3 and b2.
ToyStep ToyChain(int64_t kernel_ns, std::vector<int64_t> remake_ns) {
  ToyStep step = {.steps = Kernels(8, kernel_ns)};
  for (int32_t i = 0; i < 4; ++i) {
    ToyStorage& storage = step.storages.emplace_back();
    storage.bytes = kToyUnit;
    storage.uses = {i, i + 1};
    if (i < 3) storage.uses.push_back(7 - i);
    if (i < 3) storage.remake_ns = remake_ns[static_cast<size_t>(i)];
  }
  return step;
}

JointBound JointBoundOf(const ToyStep& step, int64_t budget_bytes,
                        const DeviceProfile& profile) {
  const ToyModel toy = ModelOf(step, profile);
  return FindJointBound({.model = toy.model,
                         .remake_ns = toy.remake_ns,
                         .profile = profile,
                         .budget_bytes = budget_bytes},
                        0);
}

// Recomputation alone.
JointBound RecomputeBoundOf(const ToyStep& step, int64_t budget_bytes) {
  const DeviceProfile profile = LinkOf(1);
  const ToyModel toy = ModelOf(step, profile);
  return FindJointBound({.model = toy.model,
                         .remake_ns = toy.remake_ns,
                         .profile = profile,
                         .budget_bytes = budget_bytes,
                         .can_swap = false},
                        0);
}

TEST(JointBoundTest, WhatFitsTakesTheTimeOfTheKernels) {
  const JointBound bound =
      JointBoundOf(ToyChain(100, {70, 50, 20}), 4 * kToyUnit, LinkOf(1));
  EXPECT_TRUE(bound.is_feasible);
  EXPECT_EQ(bound.step_ns, 800);
  EXPECT_EQ(bound.kernels_ns, 800);
  EXPECT_EQ(bound.tight_step, -1);
  EXPECT_EQ(BoundReason(bound), "compute");
}

TEST(JointBoundTest, TheCheapestTensorsThatCoverAllStepsAreRecomputed) {
  // At f3 a unit of storages 0 and 1 is absent: 50 ns. At b3 storage 2 would
  // do, but storage 1 is absent already.
  const ToyStep chain = ToyChain(100, {70, 50, 20});
  const JointBound bound = RecomputeBoundOf(chain, 3 * kToyUnit);
  EXPECT_EQ(bound.step_ns, 850);
  EXPECT_EQ(bound.recompute_ns, 50);
  EXPECT_EQ(bound.tight_step, 3);
  EXPECT_EQ(BoundReason(bound), "recomputation");
  // Storages 0 and 1; at b3, too.
  EXPECT_EQ(RecomputeBoundOf(chain, 2 * kToyUnit).step_ns, 920);
}

TEST(JointBoundTest, WithoutEnoughBytesToFreeNoPlanFits) {
  // f1 to b1 use two units each.
  const ToyStep chain = ToyChain(100, {70, 50, 20});
  const JointBound bound = RecomputeBoundOf(chain, kToyUnit);
  EXPECT_FALSE(bound.is_feasible);
  EXPECT_EQ(bound.tight_step, 1);
  EXPECT_EQ(bound.missing_bytes, kToyUnit);
  // Storage 0 cannot be absent without swaps.
  const ToyStep fixed = ToyChain(100, {kCannotRemake, 50, 20});
  EXPECT_TRUE(RecomputeBoundOf(fixed, 3 * kToyUnit).is_feasible);
  const JointBound missing = RecomputeBoundOf(fixed, 2 * kToyUnit);
  EXPECT_FALSE(missing.is_feasible);
  EXPECT_EQ(missing.tight_step, 2);
  EXPECT_EQ(missing.missing_bytes, kToyUnit);
}

TEST(JointBoundTest, SwapsThatKernelsHideCostNothing) {
  EXPECT_EQ(JointBoundOf(ToyChain(2000, {70, 50, 20}), 3 * kToyUnit, LinkOf(1))
                .step_ns,
            16000);
}

TEST(JointBoundTest, ShortKernelsHideNoCopySoTheUnitIsRecomputed) {
  // A unit takes 1024 ns each way.
  const JointBound bound =
      JointBoundOf(ToyChain(100, {70, 50, 20}), 3 * kToyUnit, LinkOf(1));
  // The covering: a part of a unit could leave while kernels run, but what
  // remains is less than a unit, and a whole tensor makes it.
  EXPECT_LE(bound.step_ns, 850);
  EXPECT_GE(bound.step_ns, 840);
}

TEST(JointBoundTest, ATensorIsSwappedWhileAnotherOneIsRecomputed) {
  // Storage 0 leaves from 400 to 1424, before f2. It returns from the end of
  // f3, 2224, and is there for b0. Until then, a unit is too much at b2 and two
  // at b3: storages 1 and 2 are computed again, in 50 + 20 ns. If storage 2
  // stayed, storage 0 would be away until b3 ends at 2624 and delay b0 until
  // 3648.
  const JointBound bound = JointBoundOf(ToyChain(400, {kCannotRemake, 50, 20}),
                                        2 * kToyUnit, LinkOf(1));
  EXPECT_EQ(bound.step_ns, 1424 + 6 * 400 + 70);
  EXPECT_EQ(bound.tight_step, 4);
  EXPECT_EQ(BoundReason(bound), "copies to the host");
}

TEST(JointBoundTest, TwoPeaksNeedTwoClones) {
  // Each peak is two kernels that use a unit; the storages around them wait.
  //   step     0 1 2 3 4 5 6
  //   a        w     r             30 ns
  //   b              w     r       40 ns
  //   peaks      * *   * *
  ToyStep step = {.steps = Kernels(7, 100)};
  step.storages = {{.bytes = kToyUnit, .uses = {0, 3}, .remake_ns = 30},
                   {.bytes = kToyUnit, .uses = {3, 6}, .remake_ns = 40},
                   {.bytes = 2 * kToyUnit, .uses = {1, 2}},
                   {.bytes = 2 * kToyUnit, .uses = {4, 5}}};
  const JointBound bound = RecomputeBoundOf(step, 2 * kToyUnit);
  EXPECT_EQ(bound.step_ns, 770);
  EXPECT_EQ(bound.recompute_ns, 70);
}

TEST(JointBoundTest, AnOutputMayOverwriteWhatLaterReadersGetFromAClone) {
  // p may overwrite v at step 2, if the last reader of v reads a clone.
  //   step     0 1 2 3 4 5
  //   v        w   r     r     30 ns
  //   p            w r
  ToyStep step = {.steps = Kernels(6, 100)};
  step.storages = {{.bytes = kToyUnit, .uses = {0, 2, 5}, .remake_ns = 30},
                   {.bytes = kToyUnit, .uses = {2, 3}, .overwrites = 0}};
  // If p had its own bytes at step 2, no plan would fit.
  EXPECT_EQ(RecomputeBoundOf(step, kToyUnit).step_ns, 630);
}

TEST(JointBoundTest, PaddingMayBeFreedWithTheTensors) {
  // 300 bytes take 512. With 256 bytes too many at step 1, at least 44 exact
  // bytes are absent: all 300 take 40 ns.
  ToyStep step = {.steps = Kernels(3, 100)};
  step.storages = {{.bytes = 300, .uses = {0, 2}, .remake_ns = 40},
                   {.bytes = 256, .uses = {1}}};
  const JointBound bound = RecomputeBoundOf(step, 512);
  EXPECT_TRUE(bound.is_feasible);
  EXPECT_EQ(bound.step_ns, 340);
}

TEST(JointBoundTest, ABudgetBetweenTwoAlignedOnesHoldsTheLastBuffer) {
  const ToyStep chain = ToyChain(100, {70, 50, 20});
  EXPECT_EQ(RecomputeBoundOf(chain, 4 * kToyUnit - 255).step_ns, 800);
  EXPECT_EQ(RecomputeBoundOf(chain, 4 * kToyUnit - 256).step_ns, 850);
}

TEST(JointBoundTest, ALargeTensorIsRecomputedWhole) {
  // A unit is too much at step 2. A hundredth of the large tensor would take 10
  // ns, the small one takes 50.
  ToyStep step = {.steps = Kernels(5, 100)};
  step.storages = {{.bytes = 100 * kToyUnit, .uses = {0, 4}, .remake_ns = 1000},
                   {.bytes = kToyUnit, .uses = {1, 3}, .remake_ns = 50},
                   {.bytes = kToyUnit, .uses = {2}}};
  EXPECT_EQ(RecomputeBoundOf(step, 101 * kToyUnit).step_ns, 550);
}

TEST(JointBoundTest, ACloneMakesAllOutputsOfItsNode) {
  // At step 1, both are absent; one clone of 60 ns makes both.
  ToyStep step = {.steps = Kernels(3, 100)};
  step.storages = {
      {.bytes = kToyUnit, .uses = {0, 2}, .remake_ns = 60, .made_with = 1},
      {.bytes = 2 * kToyUnit, .uses = {0, 2}, .remake_ns = 60, .made_with = 0},
      {.bytes = 3 * kToyUnit, .uses = {1}}};
  EXPECT_EQ(RecomputeBoundOf(step, 3 * kToyUnit).step_ns, 300 + 60);
  // The time is on the larger one, so the other is free.
  EXPECT_EQ(RecomputeBoundOf(step, 5 * kToyUnit).step_ns, 300);
}

TEST(JointBoundTest, AliasesBetweenTwoGapsLeaveThemToOneClone) {
  // No kernel reads u between its two gaps.
  ToyStep step = {.steps = Kernels(5, 100)};
  step.steps[2] = {.kind = StepKind::kAlias};
  step.storages = {{.bytes = kToyUnit, .uses = {0, 2, 4}, .remake_ns = 30},
                   {.bytes = kToyUnit, .uses = {1}},
                   {.bytes = kToyUnit, .uses = {3}}};
  EXPECT_EQ(RecomputeBoundOf(step, kToyUnit).step_ns, 400 + 30);
  // A kernel at step 2 needs a clone of its own.
  step.steps[2] = {.ns = 100};
  EXPECT_EQ(RecomputeBoundOf(step, kToyUnit).step_ns, 500 + 2 * 30);
}

TEST(JointBoundTest, WhatNoKernelReadsAgainIsComputedByNone) {
  ToyStep step = {.steps = Kernels(3, 100)};
  step.steps[2] = {.kind = StepKind::kAlias};
  step.storages = {{.bytes = kToyUnit, .uses = {0, 2}, .remake_ns = 30},
                   {.bytes = kToyUnit, .uses = {1}}};
  EXPECT_EQ(RecomputeBoundOf(step, kToyUnit).step_ns, 200);
  step.storages[0].remake_ns = kCannotRemake;
  EXPECT_FALSE(RecomputeBoundOf(step, kToyUnit).is_feasible);
}

// w x a b: b reads w and x; x is fed.
ToyStep FedToy(int64_t remake_ns) {
  ToyStep step = {
      .steps = {
          {.ns = 1000}, {.kind = StepKind::kFeed}, {.ns = 10}, {.ns = 10}}};
  step.storages = {{.bytes = kToyUnit, .uses = {0, 3}, .remake_ns = remake_ns},
                   {.bytes = kToyUnit, .uses = {1, 3}},
                   {.bytes = kToyUnit, .uses = {2}}};
  return step;
}

TEST(JointBoundTest, AFeedThatNoKernelHasReadNeedNotLeave) {
  // x arrives after a, or w leaves and returns; both take a copy after a.
  EXPECT_EQ(
      JointBoundOf(FedToy(kCannotRemake), 2 * kToyUnit, LinkOf(1)).step_ns,
      1000 + 10 + 1024 + 10);
  // w is computed again in 5 ns while x arrives until 1024.
  EXPECT_EQ(JointBoundOf(FedToy(5), 2 * kToyUnit, LinkOf(1)).step_ns,
            1024 + 10);
  // Without swaps, x may come late.
  EXPECT_EQ(RecomputeBoundOf(FedToy(kCannotRemake), 2 * kToyUnit).step_ns,
            1024 + 10);
}

TEST(JointBoundTest, AFeedThatAKernelHasReadCannotReturnWithoutSwaps) {
  ToyStep step = FedToy(kCannotRemake);
  step.steps.push_back({.ns = 10});
  step.storages[1].uses = {1, 2, 4};  // away only at b
  step.storages[0].uses = {0, 3};
  step.storages[2].uses = {3};
  EXPECT_FALSE(RecomputeBoundOf(step, 2 * kToyUnit).is_feasible);
  EXPECT_TRUE(JointBoundOf(step, 2 * kToyUnit, LinkOf(1)).is_feasible);
}

TEST(JointBoundTest, OnlyTheKernelsOfTheStepItselfHaveToBeIssued) {
  const JointBound bound =
      JointBoundOf(ToyChain(10, {1, 1, 1}), 3 * kToyUnit, LinkOf(1, 0, 500));
  EXPECT_EQ(bound.step_ns, 8 * 500 + 10);
  EXPECT_EQ(BoundReason(bound), "the host's calls");
}

TEST(JointBoundTest, NoBoundExceedsAKnownPlansTime) {
  const ToyStep chain = ToyChain(100, {70, 50, 20});
  const DeviceProfile profile = LinkOf(1);
  const ToyModel toy = ModelOf(chain, profile);
  for (const int64_t known_ns : {850, 851, 1000, 1'000'000}) {
    EXPECT_EQ(FindJointBound({.model = toy.model,
                              .remake_ns = toy.remake_ns,
                              .profile = profile,
                              .budget_bytes = 3 * kToyUnit,
                              .can_swap = false},
                             known_ns)
                  .step_ns,
              850);
  }
}

// Of swaps alone, for random steps of graphs.
TEST(JointBoundTest, WithoutRemakesItIsTheBoundOfSwaps) {
  int waiting = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const testing::TunerCase tuner_case =
        seed % 2 == 0 ? testing::SmallRandomCase(seed, 12)
                      : testing::RandomCase(seed, 24);
    const StepModel model = ModelOf(tuner_case);
    const std::vector<int64_t> remake_ns(model.gaps.size(), kCannotRemake);
    for (int i = 0; i < 4; ++i) {
      const int64_t budget =
          BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i, 4);
      const JointBound bound = FindJointBound({.model = model,
                                               .remake_ns = remake_ns,
                                               .profile = tuner_case.profile,
                                               .budget_bytes = budget},
                                              0);
      ASSERT_TRUE(bound.is_feasible);
      const int64_t swaps_ns =
          LowerBound(model, tuner_case.profile, budget).step_ns;
      EXPECT_EQ(bound.step_ns, swaps_ns);
      waiting += swaps_ns > bound.kernels_ns ? 1 : 0;
    }
  }
  EXPECT_GT(waiting, 100);
}

// More than a million pairs of a kernel and a gap: the bound looks at a part of
// the kernels.
TEST(JointBoundTest, DeepStepsAreNearlyAsTight) {
  constexpr int32_t kLayers = 1500;
  ToyStep step = {.steps = Kernels(2 * kLayers, 100)};
  for (int32_t i = 0; i < kLayers; ++i) {
    step.storages.push_back(
        {.bytes = kToyUnit, .uses = {i, 2 * kLayers - 1 - i}, .remake_ns = 50});
  }
  constexpr int64_t kAbsent = 900;
  const JointBound bound =
      RecomputeBoundOf(step, (kLayers - kAbsent) * kToyUnit);
  const int64_t exact_ns = int64_t{200} * kLayers + kAbsent * 50;
  EXPECT_LE(bound.step_ns, exact_ns);
  EXPECT_GE(bound.step_ns, exact_ns - exact_ns / 500);
  const DeviceProfile profile = LinkOf(3);
  const int64_t budget = (kLayers - kAbsent) * kToyUnit;
  const JointBound joint = JointBoundOf(step, budget, profile);
  EXPECT_GT(joint.step_ns, joint.kernels_ns);
  EXPECT_LE(joint.step_ns, bound.step_ns);
  EXPECT_LE(joint.step_ns,
            LowerBound(ModelOf(step, profile).model, profile, budget).step_ns);
}

TEST(JointBoundTest, NeverRisesWithTheBudgetNorWithMoreChoices) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const ToyStep step = RandomToyStep(random, 8);
    constexpr int kBudgets = 12;
    const DeviceProfile profile = LinkOf(1);
    const ToyModel toy = ModelOf(step, profile);
    int64_t larger_budget_ns = 0;
    for (int i = kBudgets - 1; i >= 0; --i) {
      const int64_t budget = BudgetBetween(NaiveLeastBytes(toy.model),
                                           toy.model.peak_bytes, i, kBudgets);
      SCOPED_TRACE(::testing::Message() << "budget " << budget);
      const JointBound bound = JointBoundOf(step, budget, profile);
      ASSERT_TRUE(bound.is_feasible);
      EXPECT_GE(bound.step_ns, larger_budget_ns);
      larger_budget_ns = bound.step_ns;
      EXPECT_LE(bound.step_ns, LowerBound(toy.model, profile, budget).step_ns);
      const JointBound recompute = RecomputeBoundOf(step, budget);
      if (!recompute.is_feasible) continue;
      EXPECT_LE(bound.step_ns, recompute.step_ns);
    }
  }
}

}  // namespace
}  // namespace spillway

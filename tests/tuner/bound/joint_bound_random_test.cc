// Compares the joint bound with all plans of small random steps: every gap is
// kept, swapped or recomputed. Also with LowerBound, and with the plans that
// the policies for recomputation make of real graphs
// (joint_bound_plans_test.cc).
//
// Seeds that show known mistakes, in a bound that
// - does not subtract in-place bytes: 41 without swaps, 55 and 134 with them;
// - adds the padding instead of subtracting it: 1; or ignores it: 2 and 7;
// - lets feeds that no kernel has read leave: 49;
// - counts a node that makes two storages twice: 1 and 19;
// - has a knapsack that cannot take a part of the next item: 23 and 75.
//
// SPILLWAY_STRESS_CASES sets the number of cases, SPILLWAY_STRESS_SEED the seed
// of the first one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tuner/bound/toy_step.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/bound/joint_bound.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/model/swap_player.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::RandomToyStep;
using testing::ToyModel;
using testing::ToyStep;
using testing::WithClones;

// All plans of a small step: for each choice of recomputed gaps, the model of
// the step with its clones, in which SwapPlayer swaps any of the other gaps.
class EveryFate {
 public:
  EveryFate(const ToyStep& step, const DeviceProfile& profile)
      : toy_(ModelOf(step, profile)) {
    const size_t gaps = toy_.model.gaps.size();
    for (uint64_t choice = 0; choice < uint64_t{1} << gaps; ++choice) {
      std::vector<bool> is_recomputed(gaps);
      bool is_possible = true;
      for (size_t i = 0; i < gaps; ++i) {
        is_recomputed[i] = (choice >> i & 1) != 0;
        is_possible &= !is_recomputed[i] || toy_.remake_ns[i] != kCannotRemake;
      }
      if (!is_possible) continue;
      Variant& variant = variants_.emplace_back();
      const ToyStep made =
          WithClones(step, toy_, is_recomputed, profile, variant.kept);
      variant.model = ModelOf(made, profile).model;
    }
  }

  const ToyModel& toy() const { return toy_; }

  // Without swaps, and without the copies of feeds.
  std::optional<int64_t> FastestRecomputingNs(int64_t budget) const {
    std::optional<int64_t> fastest;
    for (const Variant& variant : variants_) {
      if (variant.model.peak_bytes > budget) continue;
      fastest = std::min(fastest.value_or(INT64_MAX), variant.model.kernels_ns);
    }
    return fastest;
  }

  std::optional<int64_t> FastestNs(int64_t budget) const {
    std::optional<int64_t> fastest;
    for (const Variant& variant : variants_) {
      // By swaps without a gap that is recomputed, each once.
      std::vector<size_t> gaps;
      for (const int32_t gap : variant.kept) {
        if (gap >= 0) gaps.push_back(static_cast<size_t>(gap));
      }
      const SwapPlayer player(variant.model, budget);
      for (uint64_t choice = 0; choice < uint64_t{1} << gaps.size(); ++choice) {
        MovedGaps moved(variant.model.gaps.size(), 0);
        for (size_t i = 0; i < gaps.size(); ++i) {
          moved[gaps[i]] = static_cast<char>(choice >> i & 1);
        }
        const PlayedStep played = player.Play(moved);
        if (!played.fits) continue;
        fastest = std::min(fastest.value_or(INT64_MAX), played.step_ns);
      }
    }
    return fastest;
  }

 private:
  struct Variant {
    StepModel model = {};
    std::vector<int32_t> kept = {};
  };

  const ToyModel toy_;
  std::vector<Variant> variants_;
};

DeviceProfile SomeRates(std::mt19937_64& random) {
  constexpr std::array<double, 4> kRates = {0.3, 1, 2, 6};
  DeviceProfile profile = testing::LinkOf(kRates[random() % kRates.size()]);
  profile.to_device =
      testing::LinkOf(kRates[random() % kRates.size()]).to_device;
  return profile;
}

struct FateCounts {
  int compared = 0;
  int waiting = 0;  // the bound exceeds the one of a large budget
  int tight = 0;    // of these: within 3 % of the fastest plan
};

void CountFate(int64_t bound_ns, int64_t free_ns, int64_t fastest_ns,
               FateCounts& counts) {
  ++counts.compared;
  if (fastest_ns <= free_ns) return;
  ++counts.waiting;
  const bool is_tight =
      static_cast<double>(bound_ns) >= 0.97 * static_cast<double>(fastest_ns);
  counts.tight += is_tight ? 1 : 0;
}

void RecordFates(const FateCounts& counts) {
  ::testing::Test::RecordProperty("compared", counts.compared);
  ::testing::Test::RecordProperty("waiting", counts.waiting);
  ::testing::Test::RecordProperty("tight", counts.tight);
}

constexpr int kFateBudgets = 5;

template <typename Compare>
void ForRandomSteps(int64_t usual_cases, size_t most_gaps,
                    const Compare& compare) {
  const int64_t cases =
      testing::StressSetting("SPILLWAY_STRESS_CASES", usual_cases);
  const int64_t first = testing::StressSetting("SPILLWAY_STRESS_SEED", 1);
  for (int64_t i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DeviceProfile profile = SomeRates(random);
    const ToyStep step =
        RandomToyStep(random, 3 + static_cast<int>(random() % 3));
    const ToyModel toy = ModelOf(step, profile);
    if (toy.model.gaps.size() > most_gaps) continue;
    const EveryFate fates(step, profile);
    const int64_t least = NaiveLeastBytes(toy.model);
    for (int j = 0; j < kFateBudgets; ++j) {
      const int64_t budget =
          BudgetBetween(least, toy.model.peak_bytes, j, kFateBudgets);
      SCOPED_TRACE(::testing::Message() << "budget " << budget);
      compare(fates, profile, budget);
    }
  }
}

TEST(JointBoundRandomTest, NoPlanThatOnlyRecomputesIsFaster) {
  FateCounts counts;
  ForRandomSteps(
      400, 10,
      [&](const EveryFate& fates, const DeviceProfile& profile,
          int64_t budget) {
        const auto bound_at = [&](int64_t bytes) {
          return FindJointBound({.model = fates.toy().model,
                                 .remake_ns = fates.toy().remake_ns,
                                 .profile = profile,
                                 .budget_bytes = bytes,
                                 .can_swap = false},
                                0);
        };
        const JointBound bound = bound_at(budget);
        const std::optional<int64_t> fastest =
            fates.FastestRecomputingNs(budget);
        if (!fastest) return;
        ASSERT_TRUE(bound.is_feasible);
        // The oracle does not wait for feeds.
        const int64_t free_ns = bound_at(INT64_C(1) << 40).step_ns;
        const int64_t waits_ns = free_ns - fates.toy().model.kernels_ns;
        EXPECT_LE(bound.step_ns - waits_ns, *fastest);
        CountFate(bound.step_ns, free_ns, *fastest + waits_ns, counts);
      });
  RecordFates(counts);
  EXPECT_GT(counts.waiting, counts.compared / 2);
  EXPECT_GT(counts.tight, counts.waiting / 2);
}

TEST(JointBoundRandomTest, NoPlanThatKeepsSwapsOrRecomputesIsFaster) {
  FateCounts counts;
  ForRandomSteps(150, 7,
                 [&](const EveryFate& fates, const DeviceProfile& profile,
                     int64_t budget) {
                   const auto bound_at = [&](int64_t bytes) {
                     return FindJointBound({.model = fates.toy().model,
                                            .remake_ns = fates.toy().remake_ns,
                                            .profile = profile,
                                            .budget_bytes = bytes},
                                           0);
                   };
                   const JointBound bound = bound_at(budget);
                   const std::optional<int64_t> fastest =
                       fates.FastestNs(budget);
                   if (!fastest) return;
                   ASSERT_TRUE(bound.is_feasible);
                   EXPECT_LE(bound.step_ns, *fastest);
                   CountFate(bound.step_ns, bound_at(INT64_C(1) << 40).step_ns,
                             *fastest, counts);
                 });
  RecordFates(counts);
  EXPECT_GT(counts.waiting, counts.compared / 3);
  EXPECT_GT(counts.tight, counts.waiting / 3);
}

}  // namespace
}  // namespace spillway

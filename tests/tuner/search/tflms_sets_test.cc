#include "tuner/search/tflms_sets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::IsOk;

using Numbers = std::array<int64_t, 3>;

Numbers NumbersOf(const LmsOptions& options) {
  return {options.v2.swapout_threshold, options.v2.swapin_ahead,
          options.v2.swapin_groupby};
}

TEST(TflmsSetsTest, TheUsualSetsAreOfBothVersionsAndInRange) {
  const LmsOptions common = {.size_threshold_bytes = 777,
                             .v1 = {.n_tensors = 5}};
  for (const int64_t num_levels : {1, 2, 7, 400}) {
    int v1 = 0;
    int v2 = 0;
    for (const LmsOptions& options : UsualSets(common, num_levels, 100)) {
      EXPECT_THAT(CheckOptions(options), IsOk());
      EXPECT_EQ(options.size_threshold_bytes, 777);
      EXPECT_EQ(options.v1.n_tensors, 5);
      v1 += options.mode == LmsMode::kV1 ? 1 : 0;
      v2 += options.mode == LmsMode::kV2 ? 1 : 0;
    }
    EXPECT_EQ(v1, 6);
    EXPECT_GE(v2, 3);
  }
}

// The sets whose times are requested; `step_ns`: the time of a set's numbers.
template <typename StepNs>
std::vector<LmsOptions> Asked(const LmsOptions& common, int64_t num_levels,
                              const StepNs& step_ns) {
  std::vector<LmsOptions> asked;
  ForEachV2Set(common, num_levels, [&](const LmsOptions& options) {
    asked.push_back(options);
    return std::optional<int64_t>(step_ns(NumbersOf(options)));
  });
  return asked;
}

TEST(TflmsSetsTest, EachSetOfVersionTwoIsAskedForOnceAndInRange) {
  const auto asked =
      Asked({.v2 = {.swapin_groupby = 3}}, 20,
            [](const Numbers& n) { return 1000 - 3 * n[0] - n[1]; });
  std::set<Numbers> seen;
  for (const LmsOptions& options : asked) {
    EXPECT_THAT(CheckOptions(options), IsOk());
    EXPECT_EQ(options.mode, LmsMode::kV2);
    EXPECT_EQ(options.v2.swapin_groupby, 3);
    EXPECT_LT(options.v2.swapout_threshold, 20);
    EXPECT_LT(options.v2.swapin_ahead, 20);
    EXPECT_TRUE(seen.insert(NumbersOf(options)).second);
  }
  // The best over all powers of two below the number of levels.
  EXPECT_TRUE(seen.contains({16, 16, 3}));
}

TEST(TflmsSetsTest, GivenNumbersAreKeptAndAskedForOnce) {
  const auto asked = Asked(
      {.v2 = {.swapout_threshold = 5, .swapin_ahead = 6, .swapin_groupby = 7}},
      20, [](const Numbers&) { return 1; });
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(NumbersOf(asked[0]), (Numbers{5, 6, 7}));
}

TEST(TflmsSetsTest, GoesOnUntilNoSingleNumberIsBetter) {
  // A valley that needs several steps in all three numbers.
  const auto step_ns = [](const Numbers& n) {
    return (n[0] - 8) * (n[0] - 8) + (n[1] - n[0]) * (n[1] - n[0]) +
           (n[2] - n[1]) * (n[2] - n[1]);
  };
  const auto asked = Asked({}, 40, step_ns);
  int64_t best_ns = step_ns(NumbersOf(asked[0]));
  Numbers best = NumbersOf(asked[0]);
  std::set<Numbers> seen;
  for (const LmsOptions& options : asked) {
    const Numbers numbers = NumbersOf(options);
    seen.insert(numbers);
    if (step_ns(numbers) >= best_ns) continue;
    best_ns = step_ns(numbers);
    best = numbers;
  }
  for (size_t i = 0; i < 3; ++i) {
    for (int64_t value = 1; value < 40; value *= 2) {
      Numbers other = best;
      other[i] = value;
      EXPECT_TRUE(seen.contains(other)) << i << " " << value;
    }
  }
}

TEST(TflmsSetsTest, SetsThatDoNotFitAreNoBetterThanOthers) {
  int asked = 0;
  ForEachV2Set({}, 20, [&](const LmsOptions&) {
    ++asked;
    return std::optional<int64_t>();
  });
  EXPECT_EQ(asked, 1 + 4 + 4 + 5);  // each number separately
}

}  // namespace
}  // namespace spillway

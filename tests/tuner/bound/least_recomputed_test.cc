#include "tuner/bound/least_recomputed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr int64_t kAnyCutNs = std::numeric_limits<int64_t>::max();

// The header's inequality for every number of bytes. `slack_ns` is added to the
// time.
std::optional<int64_t> NaiveLeastBytesAt(const Cut& cut, const LinkRates& rates,
                                         int64_t step_ns, double slack_ns) {
  const int64_t spare_ns =
      step_ns - cut.start_ns - cut.kernel_ns - cut.after_ns;
  if (spare_ns < 0) return std::nullopt;
  // Whole items are computed again.
  const int64_t most =
      std::min(cut.absent_bytes, cut.remakes.MostBytes(spare_ns));
  for (int64_t r = 0; r <= most; ++r) {
    const auto s = static_cast<double>(cut.absent_bytes - r);
    if (s > 0 && rates.out <= 0) continue;
    double before = static_cast<double>(cut.start_ns);
    double after = static_cast<double>(cut.after_ns) + cut.remakes.LeastNs(r);
    if (s > 0) {
      before = std::max(before, cut.out_ns + s / rates.out);
      after = std::max(after, cut.in_ns + s / rates.in);
    }
    const double total = before + static_cast<double>(cut.kernel_ns) + after;
    if (total <= static_cast<double>(step_ns) + slack_ns) return r;
  }
  return std::nullopt;
}

TEST(LeastRecomputedTest, WhatTheLinkDoesNotMoveInTimeIsComputedAgain) {
  const std::vector<RemakeItem> items(10, {.bytes = 10, .ns = 10});
  const RecomputeKnapsack remakes(items, kAnyCutNs);
  const Cut cut = {.absent_bytes = 100,
                   .start_ns = 100,
                   .kernel_ns = 10,
                   .after_ns = 50,
                   .out_ns = 40,
                   .in_ns = 0,
                   .remakes = remakes};
  const LinkRates rates = {.out = 1, .in = 10};
  // 60 bytes leave before 100, and computing the other 40 takes 40 ns; each
  // further byte that leaves instead delays the kernel by as much. So the step
  // takes 100 + 10 + 50 + 40 ns or more.
  EXPECT_EQ(LeastRecomputedBytes(cut, rates, 198), std::nullopt);
  EXPECT_EQ(LeastRecomputedBytes(cut, rates, 200), 0);
  // With a slow way back, s bytes take 40 + s + 10 + s ns: 80 of them in 210.
  const LinkRates slow_back = {.out = 1, .in = 1};
  EXPECT_EQ(LeastRecomputedBytes(cut, slow_back, 210), 20);
}

TEST(LeastRecomputedTest, WithoutALinkEverythingIsComputedAgain) {
  const std::vector<RemakeItem> items(10, {.bytes = 10, .ns = 10});
  const RecomputeKnapsack remakes(items, kAnyCutNs);
  const Cut cut = {.absent_bytes = 30,
                   .start_ns = 100,
                   .kernel_ns = 10,
                   .after_ns = 50,
                   .remakes = remakes};
  EXPECT_EQ(LeastRecomputedBytes(cut, {}, 189), std::nullopt);
  EXPECT_EQ(LeastRecomputedBytes(cut, {}, 190), 30);
}

TEST(LeastRecomputedTest, RandomCutsAreAsANaiveTwinSays) {
  const uint64_t seed = 20261124;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) {
    return static_cast<int64_t>(random() % limit);
  };
  int solved = 0;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<RemakeItem> items(random() % 6);
    for (RemakeItem& item : items) {
      item = {.bytes = 1 + below(200), .ns = below(400)};
    }
    std::ranges::stable_sort(items, IsCheaper);
    const RecomputeKnapsack remakes(items, kAnyCutNs);
    Cut cut = {.absent_bytes = 1 + below(400),
               .start_ns = 1 + below(500),
               .kernel_ns = below(50),
               .after_ns = 1 + below(500),
               .remakes = remakes};
    cut.out_ns =
        static_cast<double>(cut.start_ns) - static_cast<double>(below(400));
    cut.in_ns =
        static_cast<double>(cut.after_ns) - static_cast<double>(below(400));
    constexpr std::array<double, 4> kRates = {0.3, 1, 1.7, 8};
    const LinkRates rates = {.out = kRates[random() % 4],
                             .in = kRates[random() % 4]};
    const int64_t step_ns =
        cut.start_ns + cut.kernel_ns + cut.after_ns - 5 + below(500);
    const auto least = LeastRecomputedBytes(cut, rates, step_ns);
    const auto exact = NaiveLeastBytesAt(cut, rates, step_ns, 0);
    if (exact) {
      ASSERT_TRUE(least.has_value());
      EXPECT_LE(*least, *exact);
    }
    // The rounding of copies gives a nanosecond.
    const auto slack = NaiveLeastBytesAt(cut, rates, step_ns, 1.001);
    if (least) {
      ASSERT_TRUE(slack.has_value());
      EXPECT_GE(*least, *slack - 1);
    }
    ++(least ? solved : refused);
  }
  EXPECT_GT(solved, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace spillway

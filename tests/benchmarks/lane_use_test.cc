#include "benchmarks/lane_use.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr auto kCompute = static_cast<int32_t>(Lane::kCompute);
constexpr auto kOut = static_cast<int32_t>(Lane::kCopyOut);
constexpr auto kIn = static_cast<int32_t>(Lane::kCopyIn);

Span Busy(int32_t track, int64_t begin_ns, int64_t end_ns) {
  return {.track = track, .begin_ns = begin_ns, .end_ns = end_ns};
}

//   ns         0    10   20   30   40   50   60
//   compute    |#########|         |####|
//   copy out        |#########|
//   copy in                   |#########|####|
//   any copy        |########################|     50
//   hidden          |####|         |####|          20
TEST(LaneUseTest, CountsCopiesBesideComputeOnce) {
  const Timeline timeline = {
      .tracks = {"compute", "copy out", "copy in"},
      .spans = {Busy(kCompute, 0, 20), Busy(kOut, 10, 30), Busy(kIn, 30, 50),
                Busy(kCompute, 40, 50), Busy(kIn, 50, 60)}};
  const LaneUse use = MeasureLanes(timeline);
  EXPECT_EQ(use.step_ns, 60);
  EXPECT_EQ(use.busy_ns[kCompute], 30);
  EXPECT_EQ(use.busy_ns[kOut], 20);
  EXPECT_EQ(use.busy_ns[kIn], 30);
  EXPECT_EQ(use.copy_ns, 50);
  EXPECT_EQ(use.hidden_ns, 20);
  EXPECT_EQ(use.hidden_part(), 0.4);
}

// Concurrent copies are one interval, and do not hide each other.
TEST(LaneUseTest, CopiesDoNotHideEachOther) {
  const Timeline timeline = {.tracks = {"compute", "copy out", "copy in"},
                             .spans = {Busy(kOut, 0, 20), Busy(kIn, 10, 30)}};
  const LaneUse use = MeasureLanes(timeline);
  EXPECT_EQ(use.copy_ns, 30);
  EXPECT_EQ(use.hidden_ns, 0);
}

TEST(LaneUseTest, WithoutCopiesNothingIsHidden) {
  const LaneUse use = MeasureLanes({.spans = {Busy(kCompute, 0, 10)}});
  EXPECT_EQ(use.copy_ns, 0);
  EXPECT_EQ(use.hidden_part(), 0.0);
}

}  // namespace
}  // namespace spillway

#include "tools/spillway/output/progress.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(ProgressTest, TellsCountsAndTheTimeLeft) {
  EXPECT_EQ(DescribeProgress("warm-up", 3, 10, 12.4, ""),
            "warm-up 3/10, 12 s left");
  EXPECT_EQ(DescribeProgress("step", 1, 500, 500, "loss 0.5"),
            "step 1/500, 8 min 20 s left, loss 0.5");
  EXPECT_EQ(DescribeProgress("kernels", 0, 46, -1, ""), "kernels 0/46");
}

TEST(ProgressTest, SecondsBecomeMinutesAndHours) {
  EXPECT_EQ(FormatSeconds(0.4), "0 s");
  EXPECT_EQ(FormatSeconds(59.6), "60 s");
  EXPECT_EQ(FormatSeconds(200), "3 min 20 s");
  EXPECT_EQ(FormatSeconds(7500), "2 h 5 min");
  EXPECT_EQ(FormatSeconds(-5), "0 s");
  EXPECT_EQ(FormatSeconds(1e300), "277777 h 46 min");
}

}  // namespace
}  // namespace spillway

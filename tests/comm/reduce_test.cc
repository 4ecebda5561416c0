#include "comm/reduce.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace spillway {
namespace {

float Reduced(float to, float from, ReduceOp op) {
  ReduceInto(&to, &from, 1, DType::kFloat32, op);
  return to;
}

TEST(ReduceTest, TheOrderOfTheRanksDoesNotChangeAMaximum) {
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    const bool is_negative = op == ReduceOp::kMin;
    EXPECT_EQ(std::signbit(Reduced(0.0F, -0.0F, op)), is_negative);
    EXPECT_EQ(std::signbit(Reduced(-0.0F, 0.0F, op)), is_negative);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(Reduced(nan, 1, op)));
    EXPECT_TRUE(std::isnan(Reduced(1, nan, op)));
  }
}

}  // namespace
}  // namespace spillway

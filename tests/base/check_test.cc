#include "base/check.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(CheckTest, TrueConditionIsEvaluatedOnceAndPasses) {
  int evaluations = 0;
  SPILLWAY_CHECK(++evaluations > 0);
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckDeathTest, FalseConditionEndsTheProgramWithPlaceAndText) {
  const int two = 2;
  EXPECT_DEATH(SPILLWAY_CHECK(two == 3),
               "check_test.cc:[0-9]+: CHECK failed: two == 3");
}

}  // namespace
}  // namespace spillway

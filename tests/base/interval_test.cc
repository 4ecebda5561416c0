#include "base/interval.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

// Whether some integer lies in both, by trying all.
bool ShareAnInteger(const Interval& a, const Interval& b) {
  for (int64_t x = -1; x < 6; ++x) {
    if (a.contains(x) && b.contains(x)) return true;
  }
  return false;
}

TEST(IntervalTest, EndIsNotContained) {
  const Interval interval = {.begin = 2, .end = 4};
  EXPECT_FALSE(interval.contains(1));
  EXPECT_TRUE(interval.contains(2));
  EXPECT_TRUE(interval.contains(3));
  EXPECT_FALSE(interval.contains(4));
  EXPECT_EQ(interval.length(), 2);
}

TEST(IntervalTest, OverlapMeansToShareAnInteger) {
  for (int64_t a = 0; a < 5; ++a) {
    for (int64_t b = 0; b < 5; ++b) {
      for (int64_t length = 1; length < 4; ++length) {
        const Interval first = {.begin = a, .end = a + length};
        const Interval second = {.begin = b, .end = b + 2};
        EXPECT_EQ(Overlap(first, second), ShareAnInteger(first, second))
            << a << " " << b << " " << length;
      }
    }
  }
}

}  // namespace
}  // namespace spillway

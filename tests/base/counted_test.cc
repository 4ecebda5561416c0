#include "base/counted.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(CountedTest, OnlyOneIsSingular) {
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(2, "node"), "2 nodes");
  EXPECT_EQ(Counted(-1, "step"), "-1 steps");
}

TEST(CountedTest, APluralMayBeGiven) {
  EXPECT_EQ(Counted(1, "batch", "batches"), "1 batch");
  EXPECT_EQ(Counted(3, "batch", "batches"), "3 batches");
}

TEST(CountedTest, TakesEveryKindOfInteger) {
  EXPECT_EQ(Counted(size_t{1}, "byte"), "1 byte");
  EXPECT_EQ(Counted(int64_t{1} << 40, "byte"), "1099511627776 bytes");
}

}  // namespace
}  // namespace spillway

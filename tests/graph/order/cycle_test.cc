#include "graph/order/cycle.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

// waits_for[i] is a predecessor of node i; names are a, b, c, ... or n17.
std::string Describe(int32_t start, const std::vector<int32_t>& waits_for) {
  std::vector<std::string> names;
  for (size_t i = 0; i < waits_for.size(); ++i) {
    names.push_back(waits_for.size() <= 26
                        ? fmt::format("{:c}", static_cast<char>('a' + i))
                        : fmt::format("n{}", i));
  }
  return DescribeCycle(
      start, [&](int32_t i) { return waits_for[static_cast<size_t>(i)]; },
      [&](int32_t i) -> std::string_view {
        return names[static_cast<size_t>(i)];
      });
}

TEST(CycleTest, FollowsTheEdgesFromTheLowestId) {
  // Edges a -> c -> b -> a: a waits for b, b for c, c for a.
  EXPECT_EQ(Describe(1, {1, 2, 0}), "a -> c -> b -> a");
}

TEST(CycleTest, LeavesOutTheWayToTheCycle) {
  // e waits for d, d for c; c and b wait for each other.
  EXPECT_EQ(Describe(4, {0, 2, 1, 2, 3}), "b -> c -> b");
}

TEST(CycleTest, ANodeThatWaitsForItself) {
  EXPECT_EQ(Describe(0, {0}), "a -> a");
}

TEST(CycleTest, LongCyclesAreShortened) {
  std::vector<int32_t> waits_for;
  for (int32_t i = 0; i < 1000; ++i) waits_for.push_back((i + 999) % 1000);
  const std::string text = Describe(500, waits_for);
  EXPECT_EQ(text.substr(0, 15), "n0 -> n1 -> n2 ");
  EXPECT_NE(text.find("n9 -> ... 980 more ... -> n990 ->"), std::string::npos)
      << text;
  EXPECT_EQ(text.substr(text.size() - 11), " n999 -> n0");
}

}  // namespace
}  // namespace spillway

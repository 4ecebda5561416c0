#include "tuner/search/range_bytes.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::Below;

TEST(RangeBytesTest, RandomAdditionsGiveTheMostOfAPlainList) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto steps = static_cast<size_t>(1 + Below(random, 400));
    std::vector<int64_t> plain(steps);
    for (int64_t& bytes : plain) bytes = Below(random, 1000);
    RangeBytes ranges(plain);
    for (int i = 0; i < 200; ++i) {
      const int64_t begin = Below(random, static_cast<int64_t>(steps));
      const int64_t end =
          begin + 1 + Below(random, static_cast<int64_t>(steps) - begin);
      const auto first = plain.begin() + begin;
      const auto last = plain.begin() + end;
      ASSERT_EQ(
          ranges.Most(static_cast<int32_t>(begin), static_cast<int32_t>(end)),
          *std::max_element(first, last));
      const int64_t bytes = Below(random, 200) - 100;
      std::for_each(first, last, [&](int64_t& at) { at += bytes; });
      ranges.Add(static_cast<int32_t>(begin), static_cast<int32_t>(end), bytes);
      ASSERT_EQ(ranges.Most(), *std::ranges::max_element(plain));
      const auto at = static_cast<size_t>(begin);
      ASSERT_EQ(ranges.at(at), plain[at]);
    }
  }
}

}  // namespace
}  // namespace spillway

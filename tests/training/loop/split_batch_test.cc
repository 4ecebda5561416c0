#include "training/loop/split_batch.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::Ge;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using Code = absl::StatusCode;
using Sizes = std::vector<int64_t>;

std::vector<double> Equal(size_t devices) {
  return std::vector<double>(devices, 1);
}

struct SplitCase {
  int64_t rows = 0;
  std::vector<double> loads = {};
  Sizes compat = {};  // empty: an error
  Sizes balanced = {};
};

// The first column is what MXNet's Scala package does, by hand from its
// formula.
TEST(SplitBatchTest, DividesByBothRules) {
  for (const SplitCase& c : {
           SplitCase{10, Equal(4), {3, 3, 3, 1}, {3, 3, 2, 2}},
           SplitCase{10, Equal(3), {3, 3, 4}, {4, 3, 3}},
           SplitCase{8, Equal(3), {3, 3, 2}, {3, 3, 2}},
           SplitCase{7, {1, 2}, {2, 5}, {2, 5}},
           SplitCase{5, {1, 1}, {3, 2}, {3, 2}},
           SplitCase{3, {1, 1}, {2, 1}, {2, 1}},
           SplitCase{5, Equal(4), {1, 1, 1, 2}, {2, 1, 1, 1}},
           SplitCase{7, Equal(4), {2, 2, 2, 1}, {2, 2, 2, 1}},
           SplitCase{100, Equal(3), {33, 33, 34}, {34, 33, 33}},
           SplitCase{128, {1, 2, 1}, {32, 64, 32}, {32, 64, 32}},
           SplitCase{9, {.1, .9}, {1, 8}, {1, 8}},
           SplitCase{50,
                     Equal(8),
                     {6, 6, 6, 6, 6, 6, 6, 8},
                     {7, 7, 6, 6, 6, 6, 6, 6}},
           SplitCase{11,
                     Equal(8),
                     {1, 1, 1, 1, 1, 1, 1, 4},
                     {2, 2, 2, 1, 1, 1, 1, 1}},
           SplitCase{6, Equal(4), {}, {2, 2, 1, 1}},
           SplitCase{12, Equal(8), {}, {2, 2, 2, 2, 1, 1, 1, 1}},
           SplitCase{20, Equal(8), {}, {3, 3, 3, 3, 2, 2, 2, 2}},
           // A device that is too slow for a row gets one.
           SplitCase{4, {100, 1, 1}, {}, {2, 1, 1}},
       }) {
    SCOPED_TRACE(::testing::PrintToString(c.loads) + " of " +
                 std::to_string(c.rows));
    ASSERT_OK_AND_ASSIGN(const Sizes balanced, SplitBatch(c.rows, c.loads));
    EXPECT_EQ(balanced, c.balanced);
    const auto compat = SplitBatch(c.rows, c.loads, SplitRule::kCompat);
    if (c.compat.empty()) {
      EXPECT_THAT(compat, StatusIs(Code::kInvalidArgument,
                                   HasSubstr("leaves no row for device")));
      continue;
    }
    ASSERT_THAT(compat, IsOk());
    EXPECT_THAT(*compat, ElementsAreArray(c.compat));
  }
}

TEST(SplitBatchTest, RefusesWhatCannotBeDivided) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Bad {
    int64_t rows = 0;
    std::vector<double> loads = {};
    std::string error = {};
  };
  for (const Bad& bad : {
           Bad{4, {}, "there is no device"},
           Bad{10, {0, 1}, "that of device 0 is 0"},
           Bad{10, {1, -1}, "that of device 1 is -1"},
           Bad{10, {1, infinity}, "that of device 1 is inf"},
           Bad{10, {1, std::nan("")}, "that of device 1 is nan"},
           Bad{1, {1, 1}, "a batch of 1 row for 2 devices"},
           Bad{2, Equal(4), "a batch of 2 rows for 4 devices"},
       }) {
    for (const SplitRule rule : {SplitRule::kBalanced, SplitRule::kCompat}) {
      EXPECT_THAT(SplitBatch(bad.rows, bad.loads, rule),
                  StatusIs(Code::kInvalidArgument, HasSubstr(bad.error)));
    }
  }
}

TEST(SplitBatchTest, RandomLoadsGetTheirPartsToARow) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t devices = 1 + random() % 9;
    std::vector<double> loads;
    for (size_t i = 0; i < devices; ++i) {
      loads.push_back(
          std::exp(std::uniform_real_distribution<>(-2, 2)(random)));
    }
    const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto rows = static_cast<int64_t>(devices + random() % 300);
    ASSERT_OK_AND_ASSIGN(const Sizes sizes, SplitBatch(rows, loads));
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), rows);
    EXPECT_THAT(sizes, Each(Ge(1)));
    const Sizes free = SplitShortBatch(rows, loads);
    EXPECT_EQ(std::accumulate(free.begin(), free.end(), int64_t{0}), rows);
    for (size_t i = 0; i < devices; ++i) {
      const double exact = static_cast<double>(rows) * loads[i] / total;
      EXPECT_LT(std::abs(static_cast<double>(free[i]) - exact), 1);
    }
    const int64_t few = static_cast<int64_t>(random() % devices);
    const Sizes some = SplitShortBatch(few, loads);
    EXPECT_EQ(std::accumulate(some.begin(), some.end(), int64_t{0}), few);
    EXPECT_THAT(some, Each(Ge(0)));
  }
}

}  // namespace
}  // namespace spillway

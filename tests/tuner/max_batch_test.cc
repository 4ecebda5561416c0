#include "tuner/max_batch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// Batches up to `most` fit, and each image needs 10 bytes.
absl::StatusOr<MaxBatch> Find(int64_t start, int64_t limit, int64_t most) {
  return SearchMaxBatch({.start = start, .limit = limit},
                        [&](int64_t batch) -> absl::StatusOr<BatchAttempt> {
                          return BatchAttempt{.batch_size = batch,
                                              .fits = batch <= most,
                                              .peak_device_bytes = 10 * batch};
                        });
}

struct Search {
  std::string name = {};  // of the test
  int64_t start = 1;
  int64_t limit = 1000;
  int64_t most = 0;  // the largest that fits
  int64_t found = 0;
  std::vector<int64_t> tried = {};
};

class MaxBatchTest : public ::testing::TestWithParam<Search> {};

TEST_P(MaxBatchTest, TriesAndFinds) {
  const Search& search = GetParam();
  ASSERT_OK_AND_ASSIGN(const MaxBatch result,
                       Find(search.start, search.limit, search.most));
  EXPECT_EQ(result.batch_size, search.found);
  std::vector<int64_t> tried;
  for (const BatchAttempt& attempt : result.tried) {
    tried.push_back(attempt.batch_size);
  }
  EXPECT_EQ(tried, search.tried);
}

INSTANTIATE_TEST_SUITE_P(Table, MaxBatchTest,
                         ::testing::ValuesIn(std::vector<Search>{
                             {.name = "StartsBelow",
                              .start = 4,
                              .most = 13,
                              .found = 13,
                              .tried = {4, 8, 16, 12, 14, 13}},
                             {.name = "StartsAbove",
                              .start = 64,
                              .most = 13,
                              .found = 13,
                              .tried = {64, 32, 16, 8, 12, 14, 13}},
                             {.name = "StartsAtTheAnswer",
                              .start = 8,
                              .most = 8,
                              .found = 8,
                              .tried = {8, 16, 12, 10, 9}},
                             {.name = "StartsJustAbove",
                              .start = 9,
                              .most = 8,
                              .found = 8,
                              .tried = {9, 4, 6, 7, 8}},
                             {.name = "OnlyOneImage",
                              .start = 4,
                              .most = 1,
                              .found = 1,
                              .tried = {4, 2, 1}},
                             {.name = "NotEvenOneImage",
                              .start = 4,
                              .most = 0,
                              .found = 0,
                              .tried = {4, 2, 1}},
                             {.name = "EverythingFits",
                              .start = 3,
                              .limit = 20,
                              .most = 1000,
                              .found = 20,
                              .tried = {3, 6, 12, 20}},
                             {.name = "StartsBeyondTheLimit",
                              .start = 50,
                              .limit = 20,
                              .most = 1000,
                              .found = 20,
                              .tried = {20}},
                             {.name = "TheLimitJustDoesNotFit",
                              .start = 16,
                              .limit = 20,
                              .most = 19,
                              .found = 19,
                              .tried = {16, 20, 18, 19}},
                             {.name = "NoLimit",
                              .limit = std::numeric_limits<int64_t>::max(),
                              .most = 3,
                              .found = 3,
                              .tried = {1, 2, 4, 3}},
                             {.name = "StartsAtNothing",
                              .start = 0,
                              .most = 1,
                              .found = 1,
                              .tried = {1, 2}},
                             {.name = "ALimitOfOne",
                              .start = 7,
                              .limit = 1,
                              .most = 5,
                              .found = 1,
                              .tried = {1}},
                         }),
                         [](const ::testing::TestParamInfo<Search>& instance) {
                           return instance.param.name;
                         });

TEST(FindMaxBatchTest, FindsEveryAnswerFromEveryStartWithoutTryingTwice) {
  constexpr int64_t kLimit = 180;
  for (int64_t most = 0; most <= 200; ++most) {
    for (const int64_t start : {0, 1, 2, 3, 7, 32, 100, 179, 180, 181, 500}) {
      SCOPED_TRACE(::testing::Message() << most << " from " << start);
      ASSERT_OK_AND_ASSIGN(const MaxBatch result, Find(start, kLimit, most));
      EXPECT_EQ(result.batch_size, std::min(most, kLimit));
      std::set<int64_t> tried;
      for (const BatchAttempt& attempt : result.tried) {
        EXPECT_GE(attempt.batch_size, 1);
        EXPECT_LE(attempt.batch_size, kLimit);
        EXPECT_TRUE(tried.insert(attempt.batch_size).second);
        EXPECT_EQ(attempt.fits, attempt.batch_size <= most);
        EXPECT_EQ(attempt.peak_device_bytes, 10 * attempt.batch_size);
      }
      // Both sides of the answer were tried, in at most 2 log2 attempts.
      EXPECT_TRUE(most == 0 || tried.contains(std::min(most, kLimit)));
      EXPECT_TRUE(most >= kLimit || tried.contains(most + 1));
      EXPECT_LE(tried.size(), 17U);
    }
  }
}

TEST(FindMaxBatchTest, AnAttemptThatFailsEndsTheSearch) {
  std::vector<int64_t> tried;
  EXPECT_THAT(
      SearchMaxBatch({.start = 8, .limit = 100},
                     [&](int64_t batch) -> absl::StatusOr<BatchAttempt> {
                       tried.push_back(batch);
                       if (batch == 16) return Internal("no plan");
                       return BatchAttempt{.batch_size = batch, .fits = true};
                     }),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("no plan")));
  EXPECT_THAT(tried, ElementsAre(8, 16));
}

}  // namespace
}  // namespace spillway

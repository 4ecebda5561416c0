#include "training/workers/bucket_plan.h"

#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using Sizes = std::vector<int64_t>;

// The vectors of SINGA's rule.
TEST(BucketPlanTest, ByElementsAsSingaDoes) {
  EXPECT_THAT(
      PlanBuckets(Sizes{30, 50, 40, 150, 60, 10}, {.elements = 100}),
      ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3), ElementsAre(4, 5)));
  EXPECT_THAT(PlanBuckets(Sizes{100, 100, 1}, {.elements = 100}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  // Its MNIST network of 431,080 parameters, from the last layer to the first.
  const Sizes mnist = {10, 5000, 500, 400'000, 50, 25'000, 20, 500};
  EXPECT_THAT(PlanBuckets(mnist, {.elements = 2'097'152}),
              ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_THAT(PlanBuckets(mnist, {.elements = 100'000}),
              ElementsAre(ElementsAre(3), ElementsAre(0, 1, 2, 4, 5, 6, 7)));
}

TEST(BucketPlanTest, ByBytesWithAShorterFirstBucket) {
  const BucketSpec spec = {.bytes = 400, .first_bytes = 80};
  EXPECT_THAT(PlanBuckets(Sizes{10, 10, 1, 60, 39, 500, 2}, spec),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4),
                          ElementsAre(5), ElementsAre(6)));
  EXPECT_THAT(PlanBuckets(Sizes{50}, spec), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(PlanBuckets(Sizes{}, spec), ElementsAre());
}

TEST(BucketPlanTest, EveryGradientIsInOneBucketWithinItsSize) {
  std::mt19937_64 random(22);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    Sizes sizes(random() % 40);
    for (int64_t& size : sizes) size = 1 + static_cast<int64_t>(random() % 300);
    BucketSpec spec = {.bytes = 4 + static_cast<int64_t>(random() % 2000),
                       .first_bytes = 4 + static_cast<int64_t>(random() % 500)};
    if (i % 2 == 0) spec.elements = 1 + static_cast<int64_t>(random() % 400);
    std::vector<size_t> all;
    for (const std::vector<size_t>& bucket : PlanBuckets(sizes, spec)) {
      int64_t sum = 0;
      for (const size_t at : bucket) sum += sizes[at];
      all.insert(all.end(), bucket.begin(), bucket.end());
      if (bucket.size() == 1) continue;
      EXPECT_LE(4 * sum, spec.elements > 0
                             ? 8 * spec.elements
                             : std::max(spec.bytes, spec.first_bytes));
    }
    if (spec.elements > 0) std::ranges::sort(all);  // large ones go at once
    std::vector<size_t> expected(sizes.size());
    std::iota(expected.begin(), expected.end(), size_t{0});
    EXPECT_EQ(all, expected);
  }
}

TEST(BucketPlanTest, RefusesSizesOutOfRange) {
  EXPECT_THAT(CheckBucketSpec({}), IsOk());
  EXPECT_THAT(CheckBucketSpec({.bytes = 3}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bytes is 3; it must be 4 to 2147483648")));
  EXPECT_THAT(CheckBucketSpec({.first_bytes = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(CheckBucketSpec({.elements = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace spillway

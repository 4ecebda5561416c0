#include "training/data/shuffled.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/counting_dataset.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;
using testing::ReadLabels;
using testing::StatusIs;

std::vector<int64_t> ZeroTo(int64_t size) {
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

TEST(RandomPermutationTest, HoldsEveryIndexOnce) {
  for (const int64_t size : {0, 1, 2, 3, 1000, 60'000}) {
    std::vector<int64_t> order =
        RandomPermutation(size, {.seed = 7, .epoch = 3});
    std::ranges::sort(order);
    EXPECT_EQ(order, ZeroTo(size)) << size;
  }
}

TEST(RandomPermutationTest, OfLessThanNothingIsEmpty) {
  EXPECT_TRUE(RandomPermutation(-3, {}).empty());
}

TEST(RandomPermutationTest, IsDecidedBySeedAndEpoch) {
  const auto first = RandomPermutation(1000, {.seed = 1, .epoch = 0});
  EXPECT_EQ(first, RandomPermutation(1000, {.seed = 1, .epoch = 0}));
  EXPECT_NE(first, RandomPermutation(1000, {.seed = 1, .epoch = 1}));
  EXPECT_NE(first, RandomPermutation(1000, {.seed = 2, .epoch = 0}));
  EXPECT_NE(first, ZeroTo(1000));
}

TEST(RandomPermutationTest, EveryOrderOfThreeIsEquallyLikely) {
  std::map<std::vector<int64_t>, int> count;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) {
    ++count[RandomPermutation(3, {.seed = 11, .epoch = epoch})];
  }
  ASSERT_EQ(count.size(), 6u);
  // Binomial, mean 1000, standard deviation 29; the tolerance is five of them.
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 145);
}

TEST(ShuffledTest, HandsOutTheSamplesInItsOrder) {
  const CountingDataset base(20);
  const Shuffled shuffled(base, {.seed = 5, .epoch = 2});
  const auto order = RandomPermutation(20, {.seed = 5, .epoch = 2});
  ASSERT_EQ(shuffled.size(), 20);
  EXPECT_EQ(shuffled.fields(), base.fields());
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_THAT(ReadLabels(shuffled, static_cast<int64_t>(i)),
                ::testing::ElementsAre(10 * order[i]));
  }
}

TEST(ShuffledTest, NamesTheSampleThatCannotBeRead) {
  CountingDataset base(20);
  base.FailAt(7);
  const Shuffled shuffled(base, {.seed = 5});
  const auto order = RandomPermutation(20, {.seed = 5});
  const auto place = std::ranges::find(order, 7) - order.begin();
  EXPECT_THAT(shuffled.Get(place),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("before shuffling, sample 7: ")));
}

// Sample i of epoch e has the label 10 i + e, and is read on two threads.
class ChangingDataset : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override {
    SPILLWAY_RETURN_IF_ERROR(Read(index, buffers));
    *reinterpret_cast<int32_t*>(buffers[1]) += static_cast<int32_t>(epoch);
    return absl::OkStatus();
  }
  int reader_threads() const override { return 2; }
};

TEST(ShuffledTest, ReadsTheSamplesOfItsEpoch) {
  const ChangingDataset base(20);
  const Shuffled shuffled(base, {.seed = 5, .epoch = 3});
  const auto order = RandomPermutation(20, {.seed = 5, .epoch = 3});
  EXPECT_THAT(ReadLabels(shuffled, 4),
              ::testing::ElementsAre(10 * order[4] + 3));
  EXPECT_EQ(shuffled.reader_threads(), 2);
}

// Claims to have more samples than any memory can order.
class EndlessDataset : public Dataset {
 public:
  int64_t size() const override { return int64_t{1} << 60; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t, std::span<std::byte* const>) const override {
    return absl::OkStatus();
  }

 private:
  std::vector<TensorType> fields_;
};

TEST(ShuffledTest, AnOrderLargerThanTheMemoryIsAnError) {
  const EndlessDataset base;
  const Shuffled shuffled(base, {});
  EXPECT_THAT(shuffled.Get(0), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr("does not fit")));
}

}  // namespace
}  // namespace spillway

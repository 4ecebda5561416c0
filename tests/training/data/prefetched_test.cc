#include "training/data/prefetched.h"

#include <numeric>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/counting_dataset.h"
#include "training/data/batched.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

int32_t FirstLabel(const Batch& sample) {
  return *sample.fields[1].data<int32_t>();
}

TEST(PrefetchedTest, HandsOutEverySampleInOrderAndThenNothing) {
  const CountingDataset base(1000);
  Prefetched reader(base);
  for (int32_t i = 0; i < 1000; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto sample, reader.Next());
    ASSERT_EQ(sample.size(), 2u);
    EXPECT_EQ(sample.fields[0].bytes.size(), 8u);
    EXPECT_EQ(sample[0].type, base.fields()[0]);
    EXPECT_EQ(FirstLabel(sample), 10 * i);
  }
  EXPECT_THAT(*reader.Next(), IsEmpty());
  EXPECT_THAT(*reader.Next(), IsEmpty());
}

TEST(PrefetchedTest, ASampleOutlivesTheNextCallsAndTheReader) {
  const CountingDataset base(64);
  const Batched batches(base, {.batch_size = 4});
  std::vector<Batch> taken;
  {
    Prefetched reader(batches);
    for (int32_t batch = 0; batch < 16; ++batch) {
      ASSERT_OK_AND_ASSIGN(taken.emplace_back(), reader.Next());
    }
  }
  for (int32_t batch = 0; batch < 16; ++batch) {
    const auto* labels =
        static_cast<const int32_t*>(taken[static_cast<size_t>(batch)][1].data);
    EXPECT_EQ(std::accumulate(labels, labels + 4, 0), 160 * batch + 60);
  }
}

TEST(PrefetchedTest, StartsWhereItIsTold) {
  const CountingDataset base(10);
  Prefetched reader(base, 7);
  for (int32_t i = 7; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto sample, reader.Next());
    EXPECT_EQ(FirstLabel(sample), 10 * i);
  }
  EXPECT_THAT(*reader.Next(), IsEmpty());
  Prefetched behind(base, 99);
  EXPECT_THAT(*behind.Next(), IsEmpty());
}

TEST(PrefetchedTest, MayBeDroppedAtAnyMoment) {
  const CountingDataset base(100);
  for (int taken = 0; taken < 5; ++taken) {
    Prefetched reader(base);
    for (int i = 0; i < taken; ++i) ASSERT_THAT(reader.Next(), testing::IsOk());
  }
}

TEST(PrefetchedTest, AnEmptyDatasetHasNothing) {
  const CountingDataset base(0);
  Prefetched reader(base);
  EXPECT_THAT(*reader.Next(), IsEmpty());
}

TEST(PrefetchedTest, ReportsASampleThatCannotBeReadInItsTurn) {
  CountingDataset base(4);
  base.FailAt(1);
  Prefetched reader(base);
  EXPECT_THAT(reader.Next(), testing::IsOk());
  EXPECT_THAT(reader.Next(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("on fire")));
  ASSERT_OK_AND_ASSIGN(const auto sample, reader.Next());
  EXPECT_EQ(FirstLabel(sample), 20);
}

// Reading sample 1 throws.
class ThrowingSample : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    if (index == 1) throw std::out_of_range("vector::at");
    return CountingDataset::Read(index, buffers);
  }
};

TEST(PrefetchedTest, ReportsASampleThatThrowsInItsTurn) {
  const ThrowingSample base(4);
  Prefetched reader(base);
  EXPECT_THAT(reader.Next(), testing::IsOk());
  EXPECT_THAT(reader.Next(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("vector::at")));
  ASSERT_OK_AND_ASSIGN(const auto sample, reader.Next());
  EXPECT_EQ(FirstLabel(sample), 20);
}

}  // namespace
}  // namespace spillway

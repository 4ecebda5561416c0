#include "training/data/batched.h"

#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/counting_dataset.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::ReadLabels;
using testing::StatusIs;

TEST(BatchedTest, PutsABatchDimensionBeforeEveryField) {
  const CountingDataset base(10);
  const Batched batches(base, {.batch_size = 4});
  EXPECT_EQ(batches.fields()[0],
            (TensorType{.dtype = DType::kFloat32, .shape = {4, 2}}));
  EXPECT_EQ(batches.fields()[1],
            (TensorType{.dtype = DType::kInt32, .shape = {4}}));
}

TEST(BatchedTest, LaysSamplesSideBySide) {
  const CountingDataset base(10);
  const Batched batches(base, {.batch_size = 3});
  float values[6];
  int32_t labels[3];
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(values),
      reinterpret_cast<std::byte*>(labels)};
  ASSERT_THAT(batches.Read(1, buffers), testing::IsOk());
  EXPECT_THAT(values, ElementsAre(3, 3.5, 4, 4.5, 5, 5.5));
  EXPECT_THAT(labels, ElementsAre(30, 40, 50));
}

TEST(BatchedTest, DropsTheRemainderInTraining) {
  const CountingDataset base(10);
  EXPECT_EQ(Batched(base, {.batch_size = 4}).size(), 2);
  EXPECT_EQ(Batched(base, {.batch_size = 5}).size(), 2);
  EXPECT_EQ(Batched(base, {.batch_size = 11}).size(), 0);
}

TEST(BatchedTest, FillsTheLastBatchFromTheStartInEvaluation) {
  const CountingDataset base(10);
  const Batched batches(base, {.batch_size = 4, .drop_remainder = false});
  ASSERT_EQ(batches.size(), 3);
  EXPECT_THAT(ReadLabels(batches, 2), ElementsAre(80, 90, 0, 10));
  EXPECT_EQ(batches.valid_samples(0), 4);
  EXPECT_EQ(batches.valid_samples(1), 4);
  EXPECT_EQ(batches.valid_samples(2), 2);
}

TEST(BatchedTest, APartHasEverySoManyBatches) {
  const CountingDataset base(10);
  const Batched part(
      base, {.batch_size = 4, .drop_remainder = false, .first = 1, .every = 2});
  ASSERT_EQ(part.size(), 1);
  EXPECT_THAT(ReadLabels(part, 0), ElementsAre(40, 50, 60, 70));
  const Batched rest(
      base, {.batch_size = 4, .drop_remainder = false, .first = 0, .every = 2});
  ASSERT_EQ(rest.size(), 2);
  EXPECT_THAT(ReadLabels(rest, 1), ElementsAre(80, 90, 0, 10));
  EXPECT_EQ(rest.valid_samples(1), 2);
  EXPECT_EQ(Batched(base, {.batch_size = 4, .first = 2, .every = 7}).size(), 0);
}

TEST(BatchedTest, OneBatchMayBeLargerThanTheWholeSet) {
  const CountingDataset base(2);
  const Batched batches(base, {.batch_size = 5, .drop_remainder = false});
  ASSERT_EQ(batches.size(), 1);
  EXPECT_THAT(ReadLabels(batches, 0), ElementsAre(0, 10, 0, 10, 0));
  EXPECT_EQ(batches.valid_samples(0), 2);
}

TEST(BatchedTest, TheLargestBatchSizeMakesOneBatch) {
  const CountingDataset base(10);
  const Batched batches(base,
                        {.batch_size = std::numeric_limits<int64_t>::max(),
                         .drop_remainder = false});
  EXPECT_EQ(batches.size(), 1);
}

TEST(BatchedTest, HandsOutBatchesThatAreTheCallersOwn) {
  const CountingDataset base(10);
  const Batched batches(base, {.batch_size = 3});
  ASSERT_OK_AND_ASSIGN(const Batch first, batches.Get(0));
  ASSERT_OK_AND_ASSIGN(const Batch second, batches.Get(1));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].type, batches.fields()[0]);
  EXPECT_EQ(first[0].data, first.fields[0].bytes.data());
  const auto labels = [](const Batch& batch) {
    const auto* data = batch.fields[1].data<int32_t>();
    return std::vector<int32_t>(data, data + 3);
  };
  EXPECT_THAT(labels(first), ElementsAre(0, 10, 20));
  EXPECT_THAT(labels(second), ElementsAre(30, 40, 50));
}

TEST(BatchedTest, RefusesBatchesThatThereAreNot) {
  const CountingDataset base(10);
  const CountingDataset empty(0);
  const Batched batches(base, {.batch_size = 3});
  for (const int64_t index : {-1, 3, 1000}) {
    EXPECT_THAT(batches.Get(index),
                StatusIs(kInvalid, HasSubstr("there is no sample")));
    EXPECT_THAT(batches.Read(index, {}), StatusIs(kInvalid, HasSubstr("3")));
  }
  EXPECT_THAT(Batched(empty, {.batch_size = 3, .drop_remainder = false}).Get(0),
              StatusIs(kInvalid, HasSubstr("the data has 0")));
  for (const int64_t size : {0, -4}) {
    const Batched none(base, {.batch_size = size, .drop_remainder = false});
    EXPECT_EQ(none.size(), 0);
    EXPECT_THAT(none.Read(0, {}),
                StatusIs(kInvalid, HasSubstr("must be positive")));
    EXPECT_THAT(none.Get(0), StatusIs(kInvalid, HasSubstr("must be positive")));
  }
}

// Sample i of epoch e has the label 10 i + e.
class EpochDataset : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override {
    SPILLWAY_RETURN_IF_ERROR(Read(index, buffers));
    *reinterpret_cast<int32_t*>(buffers[1]) += static_cast<int32_t>(epoch);
    return absl::OkStatus();
  }
};

TEST(BatchedTest, ReadsTheSamplesOfTheEpoch) {
  const EpochDataset base(10);
  const Batched batches(base, {.batch_size = 3});
  EXPECT_THAT(ReadLabels(batches, 1), ElementsAre(30, 40, 50));
  std::vector<float> values(6);
  std::vector<int32_t> labels(3);
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(values.data()),
      reinterpret_cast<std::byte*>(labels.data())};
  ASSERT_THAT(batches.ReadInEpoch(4, 1, buffers), testing::IsOk());
  EXPECT_THAT(labels, ElementsAre(34, 44, 54));
}

TEST(BatchedTest, AnyNumberOfThreadsReadsTheSame) {
  const CountingDataset base(100);
  for (const int threads : {1, 2, 7}) {
    const Batched batches(base, {.batch_size = 4, .reader_threads = threads});
    EXPECT_THAT(ReadLabels(batches, 20), ElementsAre(800, 810, 820, 830));
  }
}

TEST(BatchedTest, ReportsASampleThatCannotBeRead) {
  CountingDataset base(10);
  base.FailAt(5);
  const Batched batches(base, {.batch_size = 4});
  std::vector<std::byte> first(32);
  std::vector<std::byte> second(16);
  const std::vector<std::byte*> buffers = {first.data(), second.data()};
  EXPECT_THAT(batches.Read(0, buffers), testing::IsOk());
  EXPECT_THAT(batches.Read(1, buffers),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("sample 5: ")));
  EXPECT_THAT(batches.Read(1, buffers),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("on fire")));
}

}  // namespace
}  // namespace spillway

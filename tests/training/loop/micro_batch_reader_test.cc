#include "training/loop/micro_batch_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/counting_dataset.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// The labels of each micro-batch: ten times the row.
std::vector<std::vector<int32_t>> LabelsOf(const MicroBatchSpec& spec,
                                           const MicroBatchRange& range) {
  const CountingDataset data(spec.rows);
  const MicroBatchPlan plan = MicroBatchPlan::Create(spec).value();
  MicroBatchReader reader(data, plan, range);
  std::vector<std::vector<int32_t>> batches;
  while (true) {
    const Batch batch = reader.Next().value();
    if (batch.empty()) return batches;
    const auto labels = batch.fields[1].span<int32_t>().value();
    batches.emplace_back(labels.begin(), labels.end());
  }
}

TEST(MicroBatchReaderTest, ReadsTheWindowsOfThePlan) {
  const MicroBatchSpec spec = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                               .rows = 7,
                               .batch_size = 2,
                               .parallel_batches = 2};
  EXPECT_THAT(
      LabelsOf(spec, {.last = 3}),
      ElementsAre(ElementsAre(0, 10), ElementsAre(20, 30), ElementsAre(40, 50),
                  ElementsAre(60), ElementsAre(0, 10), ElementsAre(20, 30)));
  EXPECT_THAT(LabelsOf(spec, {.first = 1, .last = 2}),
              ElementsAre(ElementsAre(40, 50), ElementsAre(60)));
  EXPECT_THAT(LabelsOf(spec, {.first = 2, .last = 2}), ElementsAre());
}

TEST(MicroBatchReaderTest, ShufflesEachEpochAnewAndFromAnyUpdateTheSame) {
  const MicroBatchSpec spec = {.rows = 12, .batch_size = 4};
  const auto all = LabelsOf(spec, {.last = 6, .shuffle_seed = 5});
  ASSERT_EQ(all.size(), 6u);
  std::vector<int32_t> first;
  std::vector<int32_t> second;
  for (size_t i = 0; i < 3; ++i) {
    first.insert(first.end(), all[i].begin(), all[i].end());
    second.insert(second.end(), all[i + 3].begin(), all[i + 3].end());
  }
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, second);
  for (int32_t row = 0; row < 12; ++row) {
    EXPECT_EQ(first[static_cast<size_t>(row)], 10 * row);
  }
  const auto rest = LabelsOf(spec, {.first = 2, .last = 6, .shuffle_seed = 5});
  EXPECT_EQ(rest, std::vector(all.begin() + 2, all.end()));
}

TEST(MicroBatchReaderTest, AnErrorOfTheDataIsReturned) {
  CountingDataset data(4);
  data.FailAt(2);
  const MicroBatchPlan plan =
      MicroBatchPlan::Create({.rows = 4, .batch_size = 2}).value();
  MicroBatchReader reader(data, plan, {.last = 2});
  EXPECT_TRUE(reader.Next().ok());
  EXPECT_THAT(reader.Next(), StatusIs(absl::StatusCode::kInternal,
                                      HasSubstr("sample 2: the disk")));
}

}  // namespace
}  // namespace spillway

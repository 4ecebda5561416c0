// Executor groups: the devices of a rank, which divide its batches. As threads.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/training/workers/rank_training.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::RankResult;
using testing::RanksCase;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TrainAlone;
using testing::TrainRanks;
using Code = absl::StatusCode;
using Results = std::vector<absl::StatusOr<RankResult>>;

// Two halves of a batch are two micro-batches of half the rows.
TEST(ExecutorGroupTest, EqualDevicesAreMicroBatchesBitForBit) {
  RanksCase halves = {.rows = {.rows = 64, .batch_size = 4}, .updates = 16};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(halves, 2));
  RanksCase group = halves;
  group.rows.batch_size = 8;
  group.rows.loads = {1, 1};
  group.change = [](int, TrainerSpec& spec) { spec.check_replicas = 1; };
  for (const auto& device : TrainRanks(group, 1)) {
    ASSERT_THAT(device, IsOk());
    EXPECT_EQ(device->checksum, alone.checksum);
    EXPECT_EQ(device->memory.measured_device_bytes,
              device->memory.predicted_device_bytes);
  }
}

// Whatever the loads, also where the end of an epoch leaves devices without a
// row, and with several ranks: the gradient is that of the whole batch.
TEST(ExecutorGroupTest, AnyLoadsHaveTheGradientOfTheWholeBatch) {
  RanksCase whole = {.rows = {.rows = 50, .batch_size = 12}, .updates = 12};
  for (const int ranks : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(whole, ranks));
    for (const std::vector<double>& loads :
         {std::vector<double>{2, 1}, std::vector<double>{1, 5, 2},
          std::vector<double>{1, 1, 1, 1}}) {
      SCOPED_TRACE(::testing::PrintToString(loads));
      RanksCase group = whole;
      group.rows.loads = loads;
      const Results workers = TrainRanks(group, ranks);
      ASSERT_THAT(workers, SizeIs(loads.size() * static_cast<size_t>(ranks)));
      for (const auto& worker : workers) {
        ASSERT_THAT(worker, IsOk());
        EXPECT_EQ(worker->checksum, workers[0]->checksum);
        ASSERT_THAT(worker->losses, SizeIs(alone.losses.size()));
        for (size_t i = 0; i < alone.losses.size(); ++i) {
          EXPECT_NEAR(worker->losses[i], alone.losses[i], 1e-5) << i;
        }
      }
    }
  }
}

TEST(ExecutorGroupTest, AccumulatesSlices) {
  RanksCase whole = {.rows = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                              .rows = 50,
                              .batch_size = 6,
                              .parallel_batches = 2},
                     .updates = 10};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(whole, 2));
  RanksCase group = whole;
  group.rows.loads = {1, 2};
  const Results workers = TrainRanks(group, 1);
  ASSERT_THAT(workers[0], IsOk());
  ASSERT_THAT(workers[1], IsOk());
  EXPECT_EQ(workers[0]->checksum, workers[1]->checksum);
  for (size_t i = 0; i < alone.losses.size(); ++i) {
    EXPECT_NEAR(workers[0]->losses[i], alone.losses[i], 1e-5) << i;
  }
}

// Micro-batches are counted, and their losses given, as without devices.
TEST(ExecutorGroupTest, TheLossOfAMicroBatchIsThatOfItsSlices) {
  RanksCase test = {.rows = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                             .rows = 50,
                             .batch_size = 6,
                             .parallel_batches = 2},
                    .updates = 6};
  std::vector<double> losses;
  std::vector<int64_t> counts;
  const auto record = [&](int rank, TrainerSpec& spec) {
    if (rank != 0) return;
    spec.on_step = [&](const StepProgress& progress) {
      counts.push_back(progress.first_micro_batch);
      losses.insert(losses.end(), progress.micro_losses.begin(),
                    progress.micro_losses.end());
    };
  };
  test.change = record;
  ASSERT_THAT(TrainAlone(test, 2), IsOk());
  const std::vector<double> expected = losses;
  const std::vector<int64_t> expected_counts = counts;
  losses.clear();
  counts.clear();
  test.rows.loads = {1, 2};
  for (const auto& worker : TrainRanks(test, 1)) ASSERT_THAT(worker, IsOk());
  EXPECT_EQ(counts, expected_counts);
  ASSERT_THAT(losses, SizeIs(expected.size()));
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
  }
}

TEST(ExecutorGroupTest, APlanForOtherDevicesIsRefused) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4, .loads = {1, 1}}};
  const auto self = NewSelfCommunicator();
  EXPECT_THAT(testing::TrainRank(test, *self),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("the plan is for 2 ranks, but there are 1")));
}

}  // namespace
}  // namespace spillway

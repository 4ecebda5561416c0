// Several ranks, as threads, against one rank that takes their micro-batches
// one after the other.
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/training/workers/rank_training.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RankResult;
using testing::RanksCase;
using testing::RunRanks;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TrainAlone;
using testing::TrainRank;
using testing::TrainRanks;
using Code = absl::StatusCode;

// With batch norm and dropout.
absl::StatusOr<ForwardPhase> BuildRankConvolutions(GraphBuilder& g,
                                                   int64_t rows) {
  ForwardPhase phase;
  phase.images =
      g.Placeholder("images", DType::kFloat32,
                    {rows, testing::kImageSize, testing::kImageSize, 1});
  phase.labels = g.Placeholder("labels", DType::kInt32, {rows});
  Tensor x =
      Conv2D(g.Scope("conv"), phase.images, {.filters = 8, .kernel = {3, 3}});
  x = BatchNorm(g.Scope("norm"), x, {.activation = Activation::kRelu});
  x = Conv2D(g.Scope("conv2"), x, {.filters = 8, .kernel = {3, 3}});
  x = Dropout(g.Scope("dropout"), Flatten(g.Scope("flat"), x), {});
  const Tensor logits =
      Dense(g.Scope("logits"), x, {.units = testing::kNumClasses});
  phase.loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, phase.labels);
  return phase;
}

void ExpectSame(const std::vector<absl::StatusOr<RankResult>>& ranks,
                const RankResult& expected) {
  for (const absl::StatusOr<RankResult>& rank : ranks) {
    ASSERT_THAT(rank, IsOk());
    EXPECT_EQ(rank->losses, expected.losses);
    EXPECT_EQ(rank->checksum, expected.checksum);
    EXPECT_EQ(rank->memory.measured_device_bytes,
              rank->memory.predicted_device_bytes);
  }
}

class ParallelTrainingTest : public ::testing::TestWithParam<int> {};

TEST_P(ParallelTrainingTest, IsOneRankWithAsManyMicroBatchesBitForBit) {
  const int ranks = GetParam();
  for (const auto& [name, optimizer] : std::map<std::string, Optimizer>{
           {"sgd", Sgd{.learning_rate = 0.05}},
           {"momentum", Momentum{.learning_rate = 0.02}},
           {"lars", Lars{.learning_rate = 1}},
           {"adam", Adam{}}}) {
    SCOPED_TRACE(name);
    RanksCase test = {.rows = {.rows = 64, .batch_size = 3}};
    test.optimizer = optimizer;
    test.minimize.weight_decay = 1e-3;
    ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, ranks));
    ExpectSame(TrainRanks(test, ranks), alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ParallelTrainingTest,
                         ::testing::Values(1, 2, 3, 4, 7));

// 22 rows in groups of 3 x 4: the last group of an epoch has 4, 4 and 2 rows;
// with 4 ranks, two of them have no rows.
TEST(ParallelTrainingEdgesTest, TheEndOfAnEpochMayNotFillAGroup) {
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    for (const Tail tail : {Tail::kPartial, Tail::kDrop, Tail::kWrap}) {
      SCOPED_TRACE(TailName(tail));
      const RanksCase test = {
          .rows = {.rows = 22, .batch_size = 4, .tail = tail}, .updates = 7};
      ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, ranks));
      ExpectSame(TrainRanks(test, ranks), alone);
    }
  }
}

// Sums of two micro-batches on each of two ranks are added in another order
// than four on one rank.
TEST(ParallelTrainingEdgesTest, AccumulationOnEachRankIsTheSameToRounding) {
  const RanksCase test = {
      .rows = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
               .rows = 64,
               .batch_size = 3,
               .parallel_batches = 2}};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 4));
  const auto ranks = TrainRanks(test, 2);
  for (const auto& rank : ranks) {
    ASSERT_THAT(rank, IsOk());
    ASSERT_THAT(rank->losses, SizeIs(alone.losses.size()));
    for (size_t i = 0; i < alone.losses.size(); ++i) {
      EXPECT_NEAR(rank->losses[i], alone.losses[i], 1e-5);
    }
  }
  EXPECT_EQ(ranks[0]->checksum, ranks[1]->checksum);
}

TEST(ParallelTrainingEdgesTest, BucketsOfAnySizeChangeNoBit) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 2));
  for (const BucketSpec& buckets :
       {BucketSpec{}, BucketSpec{.bytes = 4, .first_bytes = 4},
        BucketSpec{.elements = 1}, BucketSpec{.elements = 100}}) {
    test.buckets = buckets;
    ExpectSame(TrainRanks(test, 2), alone);
  }
}

TEST(ParallelTrainingEdgesTest, HalfTheBytesTrainAlmostTheSame) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 3));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    SCOPED_TRACE(DTypeName(dtype));
    test.wire = {.dtype = dtype, .clip = 100};
    const auto ranks = TrainRanks(test, 3);
    ASSERT_THAT(ranks[0], IsOk());
    ExpectSame(ranks, *ranks[0]);
    EXPECT_NE(ranks[0]->checksum, alone.checksum);
    for (size_t i = 0; i < alone.losses.size(); ++i) {
      EXPECT_NEAR(ranks[0]->losses[i], alone.losses[i], 0.01) << i;
    }
  }
}

// Ranks that are threads share oneDNN's compiled convolutions, behind locks
// that ThreadSanitizer does not see.
class ConvolutionRanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kHasThreadSanitizer) GTEST_SKIP() << "oneDNN's locks";
  }
};

// One rank swaps all it can, one is tuned for a budget, one has plenty.
TEST_F(ConvolutionRanksTest, EachRankMayHaveItsOwnBudget) {
  RanksCase test = {.rows = {.rows = 96, .batch_size = 16},
                    .forward = BuildRankConvolutions,
                    .updates = 3};
  test.rows.tail = Tail::kDrop;
  const auto free = TrainRanks(test, 3);
  for (const auto& rank : free) ASSERT_THAT(rank, IsOk());
  const int64_t peak = free[0]->memory.predicted_device_bytes;
  test.budgets = {{.lms = LmsMode::kV1},
                  {.lms = LmsMode::kAuto, .device_memory = peak * 8 / 10}};
  const auto tight = TrainRanks(test, 3);
  for (size_t rank = 0; rank < 3; ++rank) {
    SCOPED_TRACE(rank);
    ASSERT_THAT(tight[rank], IsOk());
    EXPECT_EQ(tight[rank]->losses, free[0]->losses);
    EXPECT_EQ(tight[rank]->checksum, free[0]->checksum);
    const MemoryUse& memory = tight[rank]->memory;
    EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
  }
  EXPECT_GT(tight[0]->memory.measured_host_bytes, 0);
  EXPECT_LE(tight[1]->memory.measured_device_bytes,
            *test.budgets[1].device_memory);
  EXPECT_EQ(tight[2]->memory.measured_device_bytes, peak);
}

// Each micro-batch has the dropout that it has on one rank.
TEST_F(ConvolutionRanksTest, RandomNumbersDoNotDependOnTheRanks) {
  RanksCase test = {.rows = {.rows = 96, .batch_size = 8},
                    .forward = BuildRankConvolutions};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 3));
  for (const auto& rank : TrainRanks(test, 3)) {
    ASSERT_THAT(rank, IsOk());
    EXPECT_EQ(rank->losses, alone.losses);
  }
}

// Running statistics are those of rank 0, of which the last step is the rank's
// own until they are shared at the end.
TEST_F(ConvolutionRanksTest, ReplicasStayTheSame) {
  RanksCase test = {.rows = {.rows = 96, .batch_size = 8},
                    .forward = BuildRankConvolutions,
                    .updates = 12};
  test.change = [](int, TrainerSpec& spec) { spec.check_replicas = 1; };
  const auto ranks = TrainRanks(test, 2);
  for (const auto& rank : ranks) ASSERT_THAT(rank, IsOk());
  EXPECT_EQ(ranks[0]->checksum, ranks[1]->checksum);
}

TEST(ParallelTrainingEdgesTest, AStopOfOneRankStopsAll) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}, .updates = 50};
  test.change = [](int rank, TrainerSpec& spec) {
    spec.on_step = [rank, before = spec.on_step](StepProgress& progress) {
      before(progress);
      if (rank == 1 && progress.update == 2) progress.stop = true;
    };
  };
  const auto ranks = TrainRanks(test, 3);
  for (const auto& rank : ranks) {
    ASSERT_THAT(rank, IsOk());
    EXPECT_THAT(rank->losses, SizeIs(4));  // known to all in the next update
  }
}

TEST(ParallelTrainingEdgesTest, AnErrorOfOneRankEndsAll) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}, .updates = 50};
  test.change = [](int rank, TrainerSpec& spec) {
    if (rank != 1) return;
    spec.checkpoint_updates = 3;
    spec.on_checkpoint = [](const TrainingState&) {
      return Internal("the disk is full");
    };
  };
  const auto ranks = TrainRanks(test, 3);
  EXPECT_THAT(ranks[1], StatusIs(Code::kInternal, HasSubstr("disk is full")));
  for (const size_t other : {0, 2}) {
    EXPECT_THAT(ranks[other],
                StatusIs(Code::kAborted, HasSubstr("the disk is full")));
  }
}

TEST(ParallelTrainingEdgesTest, OtherNetworksAreFoundBeforeTheFirstStep) {
  std::vector<absl::StatusOr<RankResult>> results(
      2, absl::UnknownError("has not run"));
  RunRanks(2, {}, [&](Communicator& communicator) {
    RanksCase test = {.rows = {.rows = 64, .batch_size = 4, .world_size = 2}};
    if (communicator.rank() == 1) {
      test.forward = [](GraphBuilder& g, int64_t rows) {
        return absl::StatusOr<ForwardPhase>(
            testing::AddPerceptron(g, rows, 25));
      };
    }
    const auto rank = static_cast<size_t>(communicator.rank());
    results[rank] = TrainRank(test, communicator);
    return results[rank].status();
  });
  EXPECT_THAT(results,
              Each(StatusIs(Code::kAborted,
                            AllOf(HasSubstr("rank 1 has {\"name\":\"hidden/w"),
                                  HasSubstr("\"shape\":[144,25]"),
                                  HasSubstr("\"shape\":[144,24]")))));
}

TEST(ParallelTrainingEdgesTest, APlanForOtherRanksIsRefused) {
  const RanksCase test = {
      .rows = {.rows = 64, .batch_size = 4, .world_size = 2}};
  const auto self = NewSelfCommunicator();
  EXPECT_THAT(TrainRank(test, *self),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("the plan is for 2 ranks, but there are 1")));
}

}  // namespace
}  // namespace spillway

// Evaluation by several ranks: the result of one, and no batch twice.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "tests/comm/run_ranks.h"
#include "tests/support/status_matchers.h"
#include "tests/training/lenet_run.h"
#include "training/loop/evaluation.h"

namespace spillway {
namespace {

using ::testing::Each;
using testing::IsOk;
using testing::LeNetRun;
using testing::MakeLeNetRun;
using testing::Quarters;
using testing::RunRanks;

constexpr int64_t kTestBatch = 10;

// By `ranks` with the same variables.
void ExpectAsAlone(int ranks, const Quarters& data) {
  ASSERT_OK_AND_ASSIGN(LeNetRun alone, MakeLeNetRun(16, kTestBatch));
  ASSERT_OK_AND_ASSIGN(
      const std::optional<EvaluationResult> expected,
      EvaluateUntil({}, *alone.session, alone.spec.evaluation, data));
  const int64_t batches = alone.session->step_numbers()[1];
  std::vector<int64_t> steps(static_cast<size_t>(ranks));
  const auto run = [&](Communicator& rank) -> absl::Status {
    SPILLWAY_ASSIGN_OR_RETURN(LeNetRun own, MakeLeNetRun(16, kTestBatch));
    SPILLWAY_ASSIGN_OR_RETURN(
        const EvaluationResult result,
        EvaluateTogether(rank, *own.session, own.spec.evaluation, data));
    EXPECT_EQ(result.accuracy, expected->accuracy);
    EXPECT_EQ(result.loss, expected->loss);  // bit for bit
    steps[static_cast<size_t>(rank.rank())] = own.session->step_numbers()[1];
    return absl::OkStatus();
  };
  EXPECT_THAT(RunRanks(ranks, {}, run), Each(IsOk()));
  int64_t all = 0;
  for (const int64_t count : steps) {
    EXPECT_LE(count, (batches + ranks - 1) / ranks);
    all += count;
  }
  EXPECT_EQ(all, batches);
}

TEST(EvaluateTogetherTest, IsTheResultOfOneRank) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    SCOPED_TRACE(ranks);
    ExpectAsAlone(ranks, Quarters(23, 3));  // three samples in the last batch
    ExpectAsAlone(ranks, Quarters(80, 3));  // with a loss
  }
}

TEST(EvaluateTogetherTest, AnErrorOfOneEndsAll) {
  const Quarters data(40, 3);
  const auto results = RunRanks(2, {}, [&](Communicator& rank) -> absl::Status {
    SPILLWAY_ASSIGN_OR_RETURN(LeNetRun own, MakeLeNetRun(16, kTestBatch));
    // One rank's answers are no answers.
    if (rank.rank() == 1) {
      own.spec.evaluation.correct = own.spec.evaluation.loss;
    }
    absl::Status status =
        EvaluateTogether(rank, *own.session, own.spec.evaluation, data)
            .status();
    if (!status.ok()) rank.Abort(status);
    return status;
  });
  EXPECT_THAT(results, Each(::testing::Not(IsOk())));
}

}  // namespace
}  // namespace spillway

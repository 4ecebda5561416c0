#include "tuner/what_if/remedies.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "tests/support/status_matchers.h"
#include "training/loop/training_programs.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::IsOk;

constexpr int64_t kRows = 16;

ModelOptions OptionsOf(int64_t rows) {
  return {.batch_size = rows, .image_size = 16};
}

absl::StatusOr<Program> BuildStep(int64_t rows) {
  GraphBuilder g("step");
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                            BuildModel(g, "resnet20", OptionsOf(rows)));
  Minimize(g.Scope("optimizer"), model.loss, Momentum());
  Program program = {.fetches = {model.loss.id()}};
  SPILLWAY_ASSIGN_OR_RETURN(program.graph, std::move(g).Build());
  return program;
}

absl::StatusOr<std::vector<Program>> BuildGroup(int64_t rows) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const MicroBatchPlan plan,
      MicroBatchPlan::Create({.algorithm = TrainAlgorithm::kLoopedMinibatch,
                              .rows = 2 * rows,
                              .batch_size = rows,
                              .parallel_batches = 2}));
  SPILLWAY_ASSIGN_OR_RETURN(
      TrainingPrograms programs,
      MakeTrainingPrograms(
          plan, {.forward = [](GraphBuilder& g,
                               int64_t micro) -> absl::StatusOr<ForwardPhase> {
                   SPILLWAY_ASSIGN_OR_RETURN(
                       const ModelGraph model,
                       BuildModel(g, "resnet20", OptionsOf(micro)));
                   return ForwardPhase{.images = model.images,
                                       .labels = model.labels,
                                       .loss = model.loss};
                 },
                 .optimizer = Momentum()}));
  return std::move(programs.programs);
}

absl::StatusOr<Remedies> Explain(int64_t budget) {
  return ExplainRemedies(
      {.batch_size = kRows,
       .step = BuildStep,
       .grouped = BuildGroup,
       .own_variables = {"optimizer/slots"}},
      {.device = "cpu", .device_memory = budget, .profile = "p100_pcie"});
}

TEST(RemediesTest, EachCaseBeginsAtItsByte) {
  ASSERT_OK_AND_ASSIGN(const Remedies free, Explain(int64_t{1} << 34));
  EXPECT_EQ(free.found, RemedyCase::kNothing);
  EXPECT_TRUE(free.remedies.empty());
  ASSERT_GT(free.step_bytes, free.largest_node_bytes);
  ASSERT_GT(free.largest_node_bytes, free.one_row_bytes);
  const auto found = [](int64_t budget) {
    const auto remedies = Explain(budget);
    EXPECT_THAT(remedies, IsOk());
    return RemedyCaseName(remedies.value_or(Remedies()).found);
  };
  EXPECT_EQ(found(free.step_bytes), "nothing");
  EXPECT_EQ(found(free.step_bytes - 1), "small_batch");
  EXPECT_EQ(found(free.largest_node_bytes), "small_batch");
  EXPECT_EQ(found(free.largest_node_bytes - 1), "placement");
}

TEST(RemediesTest, EachRemedyKeepsTheBudgetAndTheRowsOfTheUpdate) {
  ASSERT_OK_AND_ASSIGN(const Remedies free, Explain(int64_t{1} << 34));
  const int64_t budget = free.step_bytes / 2;
  ASSERT_OK_AND_ASSIGN(const Remedies half, Explain(budget));
  ASSERT_GE(half.remedies.size(), 5u);
  EXPECT_EQ(half.remedies[0].name, "swapping");
  EXPECT_EQ(half.remedies[1].name, "recomputation");
  EXPECT_EQ(half.remedies[2].name, "both");
  EXPECT_EQ(half.remedies[3].name, "updates on the host");
  EXPECT_EQ(half.remedies[4].name, "looped_minibatch 2 x 8");
  for (const Remedy& remedy : half.remedies) {
    SCOPED_TRACE(remedy.name);
    ASSERT_THAT(remedy.fits, IsOk());
    EXPECT_LE(remedy.device_bytes, budget);
    EXPECT_GE(remedy.micro_batches * remedy.rows, kRows);
    EXPECT_GT(remedy.update_ns, free.step_ns / 2);
  }
  // Both together are never slower than one of them.
  EXPECT_LE(half.remedies[2].update_ns, half.remedies[0].update_ns);
  EXPECT_LE(half.remedies[2].update_ns, half.remedies[1].update_ns);
  EXPECT_TRUE(half.remedies.back().is_plain);
}

}  // namespace
}  // namespace spillway

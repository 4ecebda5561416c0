#include "training/trainer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/training/lenet_run.h"
#include "training/checkpoint.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kImageSize;
using testing::LeNetRun;
using testing::MakeLeNetRun;
using testing::MakeLongRun;
using testing::Quarters;
using testing::StatusIs;

TEST(TrainerTest, LeNetLearnsASeparableProblem) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters training_data(320, 1);
  const Quarters test_data(64, 2);
  run.spec.training_data = &training_data;
  run.spec.test_data = &test_data;
  run.spec.length = {.epochs = 4};
  ASSERT_OK_AND_ASSIGN(const std::vector<EpochResult> epochs,
                       Train(*run.session, run.spec));
  ASSERT_EQ(epochs.size(), 4u);
  EXPECT_LT(epochs[3].loss, epochs[0].loss / 10);
  EXPECT_LT(epochs[3].loss, 0.02);
  EXPECT_EQ(epochs[3].accuracy, 1.0);
  EXPECT_EQ(epochs[3].test_accuracy, 1.0);
  EXPECT_EQ(epochs[3].num_steps, 20);
  EXPECT_TRUE(epochs[3].is_complete);
  EXPECT_GT(epochs[3].seconds, 0);
  EXPECT_EQ(run.session->memory().allocations_in_steps, 0);
}

TEST(TrainerTest, TheSameSeedTrainsToTheSameWeights) {
  const Quarters data(64, 1);
  const auto checksum = [&](uint64_t shuffle_seed) {
    LeNetRun run = MakeLeNetRun(16, 10).value();
    run.spec.training_data = &data;
    run.spec.shuffle_seed = shuffle_seed;
    EXPECT_THAT(Train(*run.session, run.spec), IsOk());
    return Checksum(run.session->ReadVariables().value());
  };
  const std::string first = checksum(1);
  EXPECT_EQ(first, checksum(1));
  EXPECT_NE(first, checksum(2));
}

TEST(TrainerTest, EvaluationCountsEverySampleOnce) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(23, 3);  // two full batches and three samples
  ASSERT_OK_AND_ASSIGN(const double accuracy,
                       Evaluate(*run.session, run.spec.evaluation, data));
  int64_t num_correct = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    // The same sample ten times: all right or all wrong.
    std::vector<float> images(10 * kImageSize * kImageSize);
    int32_t label = 0;
    const std::vector<std::byte*> buffers = {
        reinterpret_cast<std::byte*>(images.data()),
        reinterpret_cast<std::byte*>(&label)};
    ASSERT_THAT(data.Read(i, buffers), IsOk());
    for (size_t copy = 1; copy < 10; ++copy) {
      std::copy_n(images.data(), kImageSize * kImageSize,
                  images.data() + copy * kImageSize * kImageSize);
    }
    const std::vector<int32_t> labels(10, label);
    const auto& program = run.spec.evaluation;
    ASSERT_OK_AND_ASSIGN(
        const StepResult step,
        run.session->Step(
            1, {{program.images,
                 {{DType::kFloat32, {10, kImageSize, kImageSize, 1}},
                  images.data()}},
                {program.labels, {{DType::kInt32, {10}}, labels.data()}}}));
    num_correct += *step.fetched.at(program.correct).data<bool>();
  }
  EXPECT_DOUBLE_EQ(accuracy, static_cast<double>(num_correct) / 23);
}

TEST(TrainerTest, ReportsEveryStepAndEpochAndFeedsTheScheduledRate) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(50, 1);  // three batches, two samples dropped
  std::vector<int64_t> rates_asked;
  std::vector<std::pair<int64_t, int64_t>> steps;
  std::vector<int64_t> epochs;
  run.spec.training_data = &data;
  run.spec.length = {.epochs = 2};
  run.spec.learning_rate = [&](int64_t step) {
    rates_asked.push_back(step);
    return 0.0;  // so nothing is learnt
  };
  run.spec.on_step = [&](const StepProgress& progress) {
    EXPECT_EQ(progress.num_updates, 6);
    steps.emplace_back(progress.epoch, progress.update);
  };
  run.spec.on_epoch = [&](const EpochResult& result) {
    epochs.push_back(result.epoch);
  };
  ASSERT_OK_AND_ASSIGN(auto before, run.session->ReadVariables());
  ASSERT_THAT(Train(*run.session, run.spec), IsOk());
  ASSERT_OK_AND_ASSIGN(auto after, run.session->ReadVariables());
  using ::testing::ElementsAre;
  using ::testing::Pair;
  EXPECT_THAT(rates_asked, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(steps, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2), Pair(1, 3),
                                 Pair(1, 4), Pair(1, 5)));
  EXPECT_THAT(epochs, ElementsAre(0, 1));
  EXPECT_EQ(before.at("conv1/weights").bytes, after.at("conv1/weights").bytes);
}

std::string VariablesChecksum(Session& session) {
  return Checksum(session.ReadVariables().value());
}

TEST(TrainerTest, GoesOnBitwiseAsIfItHadNotStopped) {
  const Quarters data(100, 1);
  LeNetRun whole = MakeLongRun(data);
  std::vector<double> losses;
  whole.spec.on_step = [&](const StepProgress& progress) {
    losses.push_back(progress.loss);
  };
  ASSERT_THAT(Train(*whole.session, whole.spec), IsOk());
  ASSERT_EQ(losses.size(), 18u);

  const testing::TemporaryFolder folder;
  // In the middle of an epoch, at the end of one, after the first step.
  for (const int64_t steps : {8, 12, 1}) {
    SCOPED_TRACE(steps);
    const std::string path = folder.File("checkpoint.safetensors");
    int64_t position = 0;
    LeNetRun first = MakeLongRun(data);
    first.spec.max_steps = steps;
    first.spec.on_checkpoint = [&](const TrainingState& state) {
      position = state.updates;
      return SaveCheckpoint(*first.session, path);
    };
    ASSERT_THAT(Train(*first.session, first.spec), IsOk());
    EXPECT_EQ(position, steps);

    LeNetRun second = MakeLongRun(data);
    second.spec.start.updates = position;
    std::vector<double> rest;
    second.spec.on_step = [&](const StepProgress& progress) {
      rest.push_back(progress.loss);
    };
    ASSERT_THAT(LoadCheckpoint(path, *second.session), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto epochs,
                         Train(*second.session, second.spec));
    EXPECT_EQ(epochs.front().epoch, steps / 6);
    EXPECT_EQ(epochs.front().num_steps, 6 - steps % 6);
    EXPECT_EQ(rest, std::vector<double>(losses.begin() + steps, losses.end()));
    EXPECT_EQ(VariablesChecksum(*second.session),
              VariablesChecksum(*whole.session));
  }
}

TEST(TrainerTest, StopsAfterSoManySteps) {
  const Quarters data(100, 1);
  const Quarters test_data(20, 2);
  LeNetRun run = MakeLongRun(data);
  run.spec.test_data = &test_data;
  run.spec.max_steps = 8;
  Timeline last_step;
  run.spec.last_step = &last_step;
  ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_TRUE(epochs[0].is_complete);
  EXPECT_TRUE(epochs[0].test_accuracy.has_value());
  EXPECT_FALSE(epochs[1].is_complete);
  EXPECT_EQ(epochs[1].num_steps, 2);
  EXPECT_FALSE(epochs[1].test_accuracy.has_value());
  EXPECT_FALSE(last_step.spans.empty());

  run.spec.max_steps = 0;
  ASSERT_OK_AND_ASSIGN(const auto none, Train(*run.session, run.spec));
  EXPECT_TRUE(none.empty());
}

TEST(TrainerTest, ACallbackStopsAfterAStepOrAnEpoch) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.on_step = [](StepProgress& progress) {
    progress.stop = progress.update == 9;
  };
  ASSERT_OK_AND_ASSIGN(const auto by_step, Train(*run.session, run.spec));
  ASSERT_EQ(by_step.size(), 2u);
  EXPECT_EQ(by_step[1].num_steps, 4);
  EXPECT_FALSE(by_step[1].is_complete);

  LeNetRun other = MakeLongRun(data);
  other.spec.on_epoch = [](EpochResult& epoch) { epoch.stop = true; };
  ASSERT_OK_AND_ASSIGN(const auto by_epoch, Train(*other.session, other.spec));
  ASSERT_EQ(by_epoch.size(), 1u);
  EXPECT_TRUE(by_epoch[0].is_complete);
}

// In the middle of an epoch, after the first step, and at the end of an epoch.
TEST(TrainerTest, AStopRequestEndsAfterTheStepAndTheRestGoesOnBitwise) {
  const Quarters data(100, 1);
  LeNetRun whole = MakeLongRun(data);
  ASSERT_THAT(Train(*whole.session, whole.spec), IsOk());
  const testing::TemporaryFolder folder;
  for (const int64_t steps : {8, 1, 12}) {
    SCOPED_TRACE(steps);
    LeNetRun so_many = MakeLongRun(data);
    so_many.spec.max_steps = steps;
    ASSERT_THAT(Train(*so_many.session, so_many.spec), IsOk());

    LeNetRun first = MakeLongRun(data);
    const std::string path = folder.File("checkpoint");
    int64_t position = 0;
    int64_t asked = 0;
    Timeline last_step;
    first.spec.last_step = &last_step;
    first.spec.stop = [&] { return ++asked == steps; };
    first.spec.on_checkpoint = [&](const TrainingState& state) {
      position = state.updates;
      return SaveCheckpoint(*first.session, path);
    };
    ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*first.session, first.spec));
    EXPECT_EQ(asked, steps);
    EXPECT_TRUE(epochs.back().interrupted);
    EXPECT_EQ(epochs.back().is_complete, steps % 6 == 0);
    EXPECT_EQ(position, steps);
    EXPECT_FALSE(last_step.spans.empty());
    EXPECT_EQ(VariablesChecksum(*first.session),
              VariablesChecksum(*so_many.session));

    LeNetRun second = MakeLongRun(data);
    ASSERT_THAT(LoadCheckpoint(path, *second.session), IsOk());
    second.spec.start.updates = position;
    ASSERT_THAT(Train(*second.session, second.spec), IsOk());
    EXPECT_EQ(VariablesChecksum(*second.session),
              VariablesChecksum(*whole.session));
  }
}

// Called after the last step of an epoch, then after each test batch except the
// last of two.
TEST(TrainerTest, AStopRequestCutsTheTestShort) {
  const Quarters data(100, 1);
  const Quarters test_data(20, 2);
  for (const int64_t at : {6, 7}) {
    SCOPED_TRACE(at);
    LeNetRun run = MakeLongRun(data);
    run.spec.test_data = &test_data;
    int64_t asked = 0;
    run.spec.stop = [&] { return ++asked == at; };
    std::vector<int64_t> saved;
    run.spec.on_checkpoint = [&](const TrainingState& state) {
      saved.push_back(state.updates);
      return absl::OkStatus();
    };
    int64_t told = 0;
    run.spec.on_epoch = [&](const EpochResult&) { ++told; };
    ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
    ASSERT_EQ(epochs.size(), 1u);
    EXPECT_TRUE(epochs[0].interrupted);
    EXPECT_TRUE(epochs[0].is_complete);
    EXPECT_FALSE(epochs[0].test_accuracy.has_value());
    EXPECT_EQ(told, 0);
    EXPECT_THAT(saved, ::testing::ElementsAre(6));
    EXPECT_EQ(asked, at);
  }
}

TEST(TrainerTest, ARequestThatComesTooLateChangesNothing) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  int64_t steps = 0;
  int64_t asked = 0;
  run.spec.on_step = [&](const StepProgress&) { ++steps; };
  run.spec.stop = [&] {
    ++asked;
    return steps == 18;
  };
  ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
  EXPECT_EQ(asked, 17);
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_FALSE(epochs.back().interrupted);
}

// The positions of the checkpoints in a call of Train.
std::vector<int64_t> Checkpoints(const Dataset& data,
                                 const TrainerSpec& options) {
  LeNetRun run = MakeLongRun(data);
  run.spec.length = {.epochs = 2};
  run.spec.checkpoint_updates = options.checkpoint_updates;
  run.spec.start = options.start;
  run.spec.max_steps = options.max_steps;
  std::vector<int64_t> positions;
  run.spec.on_checkpoint = [&](const TrainingState& state) {
    positions.push_back(state.updates);
    return absl::OkStatus();
  };
  EXPECT_THAT(Train(*run.session, run.spec), IsOk());
  return positions;
}

TEST(TrainerTest, AsksForCheckpointsEverySoManyStepsAndAtTheEnd) {
  using ::testing::ElementsAre;
  const Quarters data(100, 1);
  EXPECT_THAT(Checkpoints(data, {}), ElementsAre(6, 12));
  EXPECT_THAT(Checkpoints(data, {.checkpoint_updates = 4}),
              ElementsAre(4, 8, 12));
  EXPECT_THAT(Checkpoints(data, {.checkpoint_updates = 5}),
              ElementsAre(5, 10, 12));
  // Counted from the start of the training, not from the start of the call.
  EXPECT_THAT(
      Checkpoints(data, {.start = {.updates = 3}, .checkpoint_updates = 5}),
      ElementsAre(5, 10, 12));
  EXPECT_THAT(Checkpoints(data, {.max_steps = 7}), ElementsAre(6, 7));
  EXPECT_THAT(Checkpoints(data, {.max_steps = 0}), ElementsAre());
}

TEST(TrainerTest, ACheckpointThatFailsEndsTheTraining) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  int steps = 0;
  run.spec.on_step = [&](const StepProgress&) { ++steps; };
  run.spec.checkpoint_updates = 2;
  run.spec.on_checkpoint = [](const TrainingState&) {
    return Internal("the disk is full");
  };
  EXPECT_THAT(
      Train(*run.session, run.spec),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("the disk is full")));
  EXPECT_EQ(steps, 2);
}

TEST(TrainerTest, AModelWithoutAccuracyTrains) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.training.accuracy = {};
  ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_FALSE(epochs[2].accuracy.has_value());
  EXPECT_LT(epochs[2].loss, epochs[0].loss);
}

}  // namespace
}  // namespace spillway

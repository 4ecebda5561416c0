#include "training/trainer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "training/checkpoint.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::NewSession;
using testing::StatusIs;

constexpr int64_t kImageSize = 12;
constexpr int64_t kNumClasses = 4;

// Noise with one bright quarter of the image, which is the class.
class Quarters : public Dataset {
 public:
  Quarters(int64_t size, uint64_t seed) : size_(size), seed_(seed) {}

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    const auto label = static_cast<int32_t>(index % kNumClasses);
    auto* image = reinterpret_cast<float*>(buffers[0]);
    const uint64_t key = MixKeys(seed_, static_cast<uint64_t>(index));
    for (int64_t i = 0; i < kImageSize * kImageSize; ++i) {
      const bool is_low = i / kImageSize >= kImageSize / 2;
      const bool is_right = i % kImageSize >= kImageSize / 2;
      const bool is_bright = label == 2 * is_low + is_right;
      image[i] = static_cast<float>(
          0.3 * NormalAt(key, static_cast<uint64_t>(i)) + (is_bright ? 1 : 0));
    }
    std::memcpy(buffers[1], &label, sizeof(label));
    return absl::OkStatus();
  }

 private:
  int64_t size_;
  uint64_t seed_;
  std::vector<TensorType> fields_ = {
      {.dtype = DType::kFloat32, .shape = {kImageSize, kImageSize, 1}},
      {.dtype = DType::kInt32, .shape = Shape()}};
};

// LeNet with a training and an evaluation program, and what a trainer needs.
struct LeNetRun {
  std::unique_ptr<Session> session;
  TrainerSpec spec;
};

absl::StatusOr<ModelGraph> BuildLeNet(GraphBuilder& g, int64_t batch_size,
                                      bool is_training) {
  return BuildModel(g, "lenet",
                    {.batch_size = batch_size,
                     .image_size = kImageSize,
                     .channels = 1,
                     .num_classes = kNumClasses,
                     .is_training = is_training});
}

absl::StatusOr<LeNetRun> MakeLeNetRun(int64_t batch_size,
                                      int64_t test_batch_size) {
  GraphBuilder training(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                            BuildLeNet(training, batch_size, true));
  const Tensor rate =
      training.Placeholder("learning_rate", DType::kFloat32, Shape());
  Minimize(training.Scope("momentum_optimizer"), model.loss, Momentum(),
           {.learning_rate_feed = rate});
  GraphBuilder evaluation(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph test,
                            BuildLeNet(evaluation, test_batch_size, false));

  LeNetRun run;
  run.spec.training = {.batch_size = batch_size,
                       .images = model.images.id(),
                       .labels = model.labels.id(),
                       .learning_rate = rate.id(),
                       .loss = model.loss.id(),
                       .accuracy = model.accuracy.id()};
  run.spec.evaluation = {.batch_size = test_batch_size,
                         .images = test.images.id(),
                         .labels = test.labels.id(),
                         .correct = test.correct.id()};
  run.spec.learning_rate = ConstantRate(0.02);
  std::vector<Program> programs(2);
  programs[0].fetches = {model.loss.id(), model.accuracy.id()};
  programs[1].fetches = {test.correct.id()};
  SPILLWAY_ASSIGN_OR_RETURN(programs[0].graph, std::move(training).Build());
  SPILLWAY_ASSIGN_OR_RETURN(programs[1].graph, std::move(evaluation).Build());
  SPILLWAY_ASSIGN_OR_RETURN(run.session, NewSession(std::move(programs)));
  return run;
}

TEST(TrainerTest, LeNetLearnsASeparableProblem) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters training_data(320, 1);
  const Quarters test_data(64, 2);
  run.spec.training_data = &training_data;
  run.spec.test_data = &test_data;
  run.spec.num_epochs = 4;
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

// Every label is one too many.
class WrongLabels : public Quarters {
 public:
  using Quarters::Quarters;
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    constexpr int32_t kWrong = kNumClasses;
    const absl::Status status = Quarters::Read(index, buffers);
    std::memcpy(buffers[1], &kWrong, sizeof(kWrong));
    return status;
  }
};

TEST(TrainerTest, ALabelOutOfRangeIsTheErrorOfTheSessionWhichGoesOn) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const WrongLabels wrong(32, 1);
  run.spec.training_data = &wrong;
  EXPECT_THAT(
      Train(*run.session, run.spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "feed labels: element 0 is 4; "
               "loss/SparseSoftmaxCrossEntropyWithLogits needs a number in "
               "[0, 4)"));
  const Quarters data(32, 1);
  run.spec.training_data = &data;
  EXPECT_THAT(Train(*run.session, run.spec), IsOk());
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
    // The same sample ten times over: all right or all wrong.
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
  run.spec.num_epochs = 2;
  run.spec.learning_rate = [&](int64_t step) {
    rates_asked.push_back(step);
    return 0.0;  // so nothing is learnt
  };
  run.spec.on_step = [&](const StepProgress& progress) {
    EXPECT_EQ(progress.steps_per_epoch, 3);
    steps.emplace_back(progress.epoch, progress.step);
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
  EXPECT_THAT(steps, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2), Pair(1, 0),
                                 Pair(1, 1), Pair(1, 2)));
  EXPECT_THAT(epochs, ElementsAre(0, 1));
  EXPECT_EQ(before.at("conv1/weights").bytes, after.at("conv1/weights").bytes);
}

TEST(TrainerTest, LessThanOneBatchIsRefused) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(15, 1);
  run.spec.training_data = &data;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("15 samples, fewer than one batch of 16")));
}

TEST(TrainerTest, DataOfAnotherShapeIsRefused) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(40, 1);
  run.spec.training_data = &data;
  run.spec.training.batch_size = 8;  // not what the graph was built for
  EXPECT_THAT(
      Train(*run.session, run.spec),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("images")));
}

std::string ChecksumOf(Session& session) {
  return Checksum(session.ReadVariables().value());
}

// Epochs of six steps whose rate falls with the step, so that a step that is
// counted or fed wrongly shows.
LeNetRun MakeLongRun(const Dataset& data) {
  LeNetRun run = MakeLeNetRun(16, 10).value();
  run.spec.training_data = &data;
  run.spec.num_epochs = 3;
  run.spec.shuffle_seed = 5;
  run.spec.learning_rate = LinearDecay(0.05, 18);
  return run;
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
    TrainingPosition position;
    LeNetRun first = MakeLongRun(data);
    first.spec.max_steps = steps;
    first.spec.on_checkpoint = [&](const TrainingPosition& next) {
      position = next;
      return SaveCheckpoint(*first.session, path);
    };
    ASSERT_THAT(Train(*first.session, first.spec), IsOk());
    EXPECT_EQ(position, (TrainingPosition{steps / 6, steps % 6}));

    LeNetRun second = MakeLongRun(data);
    second.spec.start = position;
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
    EXPECT_EQ(ChecksumOf(*second.session), ChecksumOf(*whole.session));
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
    progress.stop = progress.epoch == 1 && progress.step == 3;
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

// Where checkpoints are asked for in a call of Train.
std::vector<TrainingPosition> Checkpoints(const Dataset& data,
                                          const TrainerSpec& options) {
  LeNetRun run = MakeLongRun(data);
  run.spec.num_epochs = 2;
  run.spec.checkpoint_steps = options.checkpoint_steps;
  run.spec.start = options.start;
  run.spec.max_steps = options.max_steps;
  std::vector<TrainingPosition> positions;
  run.spec.on_checkpoint = [&](const TrainingPosition& next) {
    positions.push_back(next);
    return absl::OkStatus();
  };
  EXPECT_THAT(Train(*run.session, run.spec), IsOk());
  return positions;
}

TEST(TrainerTest, AsksForCheckpointsEverySoManyStepsAndAtTheEnd) {
  using ::testing::ElementsAre;
  using Position = TrainingPosition;
  const Quarters data(100, 1);
  EXPECT_THAT(Checkpoints(data, {}),
              ElementsAre(Position{1, 0}, Position{2, 0}));
  EXPECT_THAT(Checkpoints(data, {.checkpoint_steps = 4}),
              ElementsAre(Position{0, 4}, Position{1, 2}, Position{2, 0}));
  EXPECT_THAT(Checkpoints(data, {.checkpoint_steps = 5}),
              ElementsAre(Position{0, 5}, Position{1, 4}, Position{2, 0}));
  // Counted from the start of the training, not of the call.
  EXPECT_THAT(Checkpoints(data, {.start = {0, 3}, .checkpoint_steps = 5}),
              ElementsAre(Position{0, 5}, Position{1, 4}, Position{2, 0}));
  EXPECT_THAT(Checkpoints(data, {.max_steps = 7}),
              ElementsAre(Position{1, 0}, Position{1, 1}));
  EXPECT_THAT(Checkpoints(data, {.max_steps = 0}), ElementsAre());
}

TEST(TrainerTest, ACheckpointThatFailsEndsTheTraining) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  int steps = 0;
  run.spec.on_step = [&](const StepProgress&) { ++steps; };
  run.spec.checkpoint_steps = 2;
  run.spec.on_checkpoint = [](const TrainingPosition&) {
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

TEST(TrainerTest, AStartOutsideTheTrainingIsRefused) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  for (const TrainingPosition start :
       {TrainingPosition{0, 6}, TrainingPosition{0, -1},
        TrainingPosition{-1, 0}}) {
    run.spec.start = start;
    EXPECT_THAT(Train(*run.session, run.spec),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("an epoch has 6 steps")));
  }
  run.spec.start = {3, 0};  // all is done
  ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
  EXPECT_TRUE(epochs.empty());
  run.spec.max_steps = -1;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must not be negative")));
}

TEST(TrainerTest, AStartAfterTheTrainingIsRefused) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  for (const TrainingPosition start :
       {TrainingPosition{3, 1}, TrainingPosition{4, 0}}) {
    run.spec.start = start;
    EXPECT_THAT(Train(*run.session, run.spec),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("there are 3 epochs")));
  }
}

TEST(TrainerTest, AFetchThatIsMissingIsNamed) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  const ValueId loss = run.spec.training.loss;
  run.spec.training.loss = run.spec.training.images;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the loss")));
  run.spec.training.loss = loss;
  run.spec.training.accuracy = run.spec.training.images;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the accuracy")));
  run.spec.evaluation.correct = run.spec.evaluation.images;
  EXPECT_THAT(Evaluate(*run.session, run.spec.evaluation, data),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the correct answers")));
}

// What Train says of this spec. No step runs.
absl::Status Refusal(LeNetRun& run) {
  run.spec.on_step = [](const StepProgress&) { ADD_FAILURE(); };
  return Train(*run.session, run.spec).status();
}

TEST(TrainerTest, FetchesAreCheckedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.training.accuracy = run.spec.training.images;
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("does not fetch the accuracy")));
  run = MakeLongRun(data);
  run.spec.training.loss = {};
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("does not fetch the loss")));
  run = MakeLongRun(data);
  run.spec.test_data = &data;
  run.spec.evaluation.correct = run.spec.evaluation.images;
  EXPECT_THAT(Refusal(run),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the correct answers")));
}

TEST(TrainerTest, AnEvaluationWithoutAProgramIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const ModelGraph model, BuildLeNet(g, 16, true));
  Program program = {.fetches = {model.loss}};
  ASSERT_OK_AND_ASSIGN(program.graph, std::move(g).Build());
  LeNetRun run = MakeLongRun(data);
  run.spec.training.loss = model.loss;
  run.spec.training.accuracy = {};
  run.spec.test_data = &data;
  ASSERT_OK_AND_ASSIGN(run.session, NewSession(std::move(program)));
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "the session has no program 1 to fetch "
                                     "the correct answers from"));
}

TEST(TrainerTest, AnEvaluationOfNothingIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  const Quarters none(0, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.test_data = &none;
  const auto kRefused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("evaluation needs data and a positive batch size"));
  EXPECT_THAT(Refusal(run), kRefused);
  run.spec.test_data = &data;
  run.spec.evaluation.batch_size = 0;
  EXPECT_THAT(Refusal(run), kRefused);
}

class OneField : public Quarters {
 public:
  using Quarters::Quarters;
  const std::vector<TensorType>& fields() const override { return fields_; }

 private:
  std::vector<TensorType> fields_ = {{DType::kFloat32, {4}}};
};

TEST(TrainerTest, TestDataWithoutLabelsIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  const OneField unlabelled(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.test_data = &unlabelled;
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("test data has 1 fields")));
}

class Throwing : public Quarters {
 public:
  using Quarters::Quarters;
  absl::Status Read(int64_t, std::span<std::byte* const>) const override {
    throw std::out_of_range("vector::at");
  }
};

TEST(TrainerTest, DataThatThrowsIsAnError) {
  const Throwing data(100, 1);
  LeNetRun run = MakeLongRun(data);
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInternal,
                                     HasSubstr("threw: vector::at")));
}

}  // namespace
}  // namespace spillway

#include "training/trainer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
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

}  // namespace
}  // namespace spillway

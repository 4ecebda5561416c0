// LeNet on synthetic images, run by a trainer.
#ifndef SPILLWAY_TESTS_TRAINING_LENET_RUN_H_
#define SPILLWAY_TESTS_TRAINING_LENET_RUN_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status_macros.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/new_session.h"
#include "training/optimizer.h"
#include "training/trainer.h"

namespace spillway::testing {

inline constexpr int64_t kImageSize = 12;
inline constexpr int64_t kNumClasses = 4;

// Noise with one bright quarter per image; the quarter is the class.
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

// LeNet with a training and an evaluation program, and the trainer's arguments.
struct LeNetRun {
  std::unique_ptr<Session> session;
  TrainerSpec spec;
};

inline absl::StatusOr<ModelGraph> BuildLeNet(GraphBuilder& g,
                                             int64_t batch_size,
                                             bool is_training) {
  return BuildModel(g, "lenet",
                    {.batch_size = batch_size,
                     .image_size = kImageSize,
                     .channels = 1,
                     .num_classes = kNumClasses,
                     .is_training = is_training});
}

inline absl::StatusOr<LeNetRun> MakeLeNetRun(int64_t batch_size,
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
                         .correct = test.correct.id(),
                         .loss = test.loss.id()};
  run.spec.learning_rate = ConstantRate(0.02);
  std::vector<Program> programs(2);
  programs[0].fetches = {model.loss.id(), model.accuracy.id()};
  programs[1].fetches = {test.correct.id(), test.loss.id()};
  SPILLWAY_ASSIGN_OR_RETURN(programs[0].graph, std::move(training).Build());
  SPILLWAY_ASSIGN_OR_RETURN(programs[1].graph, std::move(evaluation).Build());
  SPILLWAY_ASSIGN_OR_RETURN(run.session, NewSession(std::move(programs)));
  return run;
}

// Epochs of six steps with a rate that falls with the step, so that a wrong
// step number or feed is detected.
inline LeNetRun MakeLongRun(const Dataset& data) {
  LeNetRun run = MakeLeNetRun(16, 10).value();
  run.spec.training_data = &data;
  run.spec.length = {.epochs = 3};
  run.spec.shuffle_seed = 5;
  run.spec.learning_rate = LinearDecay(0.05, 18);
  return run;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_LENET_RUN_H_

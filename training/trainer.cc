#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "base/status_macros.h"
#include "training/data/batched.h"
#include "training/data/prefetched.h"
#include "training/data/shuffled.h"

namespace spillway {
namespace {

constexpr int kTrainingProgram = 0;
constexpr int kEvaluationProgram = 1;

absl::Status CheckFields(const Dataset& data, const char* what) {
  if (data.fields().size() == 2) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} has {} fields; a trainer wants images and labels", what,
                  data.fields().size()));
}

absl::Status CheckSpec(const TrainerSpec& spec) {
  if (spec.training_data == nullptr || spec.training.batch_size <= 0) {
    return InvalidArgument("training needs data and a positive batch size");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckFields(*spec.training_data, "training data"));
  if (spec.training_data->size() < spec.training.batch_size) {
    return InvalidArgument(fmt::format(
        "the training data has {} samples, fewer than one batch of {}",
        spec.training_data->size(), spec.training.batch_size));
  }
  if (spec.learning_rate && !spec.training.learning_rate.is_valid()) {
    return InvalidArgument(
        "a learning-rate schedule needs a graph that is fed the rate");
  }
  return absl::OkStatus();
}

class EpochLoop {
 public:
  EpochLoop(Session& session, const TrainerSpec& spec)
      : session_(session), spec_(spec) {}

  absl::StatusOr<EpochResult> Run(int64_t epoch) {
    const Shuffled shuffled(*spec_.training_data,
                            {.seed = spec_.shuffle_seed, .epoch = epoch});
    const Batched batches(shuffled, {.batch_size = spec_.training.batch_size});
    Prefetched reader(batches);
    EpochResult result = {.epoch = epoch};
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < batches.size(); ++i) {
      SPILLWAY_ASSIGN_OR_RETURN(const auto batch, reader.Next());
      const bool is_last =
          epoch + 1 == spec_.num_epochs && i + 1 == batches.size();
      SPILLWAY_ASSIGN_OR_RETURN(
          const StepResult step,
          Step(batch, epoch * batches.size() + i, is_last));
      SPILLWAY_ASSIGN_OR_RETURN(const double loss,
                                step.scalar(spec_.training.loss));
      SPILLWAY_ASSIGN_OR_RETURN(const double accuracy,
                                step.scalar(spec_.training.accuracy));
      result.loss += loss;
      result.accuracy += accuracy;
      if (spec_.on_step) {
        spec_.on_step({.epoch = epoch,
                       .step = i,
                       .steps_per_epoch = batches.size(),
                       .loss = loss});
      }
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.seconds = elapsed.count();
    result.loss /= static_cast<double>(batches.size());
    result.accuracy /= static_cast<double>(batches.size());
    return result;
  }

 private:
  absl::StatusOr<StepResult> Step(const std::vector<TensorView>& batch,
                                  int64_t step, bool is_last) {
    const TrainingProgram& program = spec_.training;
    Feeds feeds = {{program.images, batch[0]}, {program.labels, batch[1]}};
    if (spec_.learning_rate) {
      const auto rate = static_cast<float>(spec_.learning_rate(step));
      feeds[program.learning_rate] = rate;
    }
    return session_.Step(kTrainingProgram, feeds,
                         is_last ? spec_.last_step : nullptr);
  }

  Session& session_;
  const TrainerSpec& spec_;
};

}  // namespace

absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(CheckSpec(spec));
  EpochLoop loop(session, spec);
  std::vector<EpochResult> results;
  for (int64_t epoch = 0; epoch < spec.num_epochs; ++epoch) {
    SPILLWAY_ASSIGN_OR_RETURN(EpochResult result, loop.Run(epoch));
    if (spec.test_data != nullptr) {
      SPILLWAY_ASSIGN_OR_RETURN(
          result.test_accuracy,
          Evaluate(session, spec.evaluation, *spec.test_data));
    }
    if (spec.on_epoch) spec.on_epoch(result);
    results.push_back(result);
  }
  return results;
}

absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data) {
  SPILLWAY_RETURN_IF_ERROR(CheckFields(data, "test data"));
  if (data.size() == 0 || program.batch_size <= 0) {
    return InvalidArgument("evaluation needs data and a positive batch size");
  }
  const Batched batches(
      data, {.batch_size = program.batch_size, .drop_remainder = false});
  Prefetched reader(batches);
  int64_t num_correct = 0;
  for (int64_t i = 0; i < batches.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(const auto batch, reader.Next());
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session.Step(kEvaluationProgram,
                     {{program.images, batch[0]}, {program.labels, batch[1]}}));
    SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* correct,
                              step.tensor(program.correct));
    SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> flags,
                              correct->span<bool>());
    const auto valid = static_cast<size_t>(batches.valid_samples(i));
    num_correct += std::ranges::count(flags.first(valid), true);
  }
  return static_cast<double>(num_correct) / static_cast<double>(data.size());
}

}  // namespace spillway
